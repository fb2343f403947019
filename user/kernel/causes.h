/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Causes of copies, and the call sites in the kernel that identify them. Data; bpf/classify.h
 * matches stacks.
 */
#pragma once

#include "bpf/abi.h"

#include <stddef.h>

struct cause_site {
	const char *function; /* the copier's caller, or further out */
	const char *outer;    /* NULL, or a function that this was called from */
	unsigned int copiers; /* enum copier */
	enum device_kind device;
	unsigned int cause; /* enum cause, perhaps with CAUSE_BY_TAP */
};

/* As in the run record. */
const char *cause_name(enum cause cause);

/* Call sites, innermost first where they nest; ends with a NULL function. */
extern const struct cause_site cause_sites[];

/* Where code lies: up to two ranges of a function and what the compiler made of it. */
struct features;
typedef size_t (*cause_code)(const struct features *f, const char *function,
			     struct address_range ranges[2]);

/* The table in a kernel's addresses; functions that it lacks are left out. Returns how many. */
size_t causes__call_sites(struct call_site *call_sites, size_t max, cause_code code,
			  const struct features *f);

/* Why a zero-copy send is refused before anything is copied. */
struct refusal_row {
	const char *name; /* as in the run record */
	int error;	  /* an errno; 0: any other */
};

enum refusal { REFUSAL_NUMBERS, REFUSALS };

const struct refusal_row *refusal__get(enum refusal refusal);
/* For an errno that needs no further look. */
enum refusal refusal__of(int error);

/* The syscall's name; "other" for what has no row. */
const char *call_name(enum call_kind kind);
/* "EAGAIN" for an index of the errors counted in the kernel. */
const char *call_error_name(unsigned int index);
