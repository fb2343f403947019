/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The stages of a send: what they are called. Data. */
#pragma once

#include "bpf/abi.h"

struct stage_row {
	enum stage stage;
	const char *name;  /* in records */
	const char *words; /* in reports, */
	char letter;	   /* and in bars */
};

/* In the order of a send: on the CPU first, unaccounted last of these. */
extern const struct stage_row stage_rows[STAGES];

/* By its name in records; the name where there is none of it. */
const char *stage__words(const char *name);
