/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Why zero-copy sends are refused before anything is copied: a row a cause. */
#pragma once

struct refusal_row {
	const char *name; /* as in the run record */
	int error;	  /* an errno; 0: any other */
	const char *meaning;
	const char *remedy;
};

enum refusal {
	REFUSAL_OPTMEM,
	REFUSAL_MEMLOCK,
	REFUSAL_ENOBUFS,
	REFUSAL_UNSUPPORTED,
	REFUSAL_FULL,
	REFUSAL_OTHER,
	REFUSALS,
};

const struct refusal_row *refusal__get(enum refusal refusal);
/* For an errno that needs no further look. */
enum refusal refusal__of(int error);
/* NULL if there is none of that name. */
const struct refusal_row *refusal__find(const char *name);
