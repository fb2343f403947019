/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Causes of copies, and the call sites in the kernel that identify them, as data. bpf/classify.h
 * compares stacks with these call sites.
 */
#pragma once

#include "bpf/abi.h"

#include <stddef.h>

struct cause_site {
	const char *function; /* the copier's caller, directly or indirectly */
	const char *outer;    /* NULL, or a function that must have called it */
	unsigned int copiers; /* enum copier */
	enum device_kind device;
	unsigned int cause; /* enum cause, perhaps with CAUSE_BY_TAP */
};

/* Returns the name in the run record. */
const char *cause_name(enum cause cause);

/* The call sites, innermost first if nested; ends with a NULL function. */
extern const struct cause_site cause_sites[];

/*
 * Writes up to two ranges: of a function, and of the variant that the compiler generated. Returns
 * their number.
 */
struct features;
typedef size_t (*cause_code)(const struct features *f, const char *function,
			     struct address_range ranges[2]);

/*
 * Writes the table with a kernel's addresses, without functions that it lacks. Returns the number
 * of rows.
 */
size_t causes__call_sites(struct call_site *call_sites, size_t max, cause_code code,
			  const struct features *f);

/* A cause for which a zero-copy send is refused before any data are copied. */
struct refusal_row {
	const char *name; /* the name in the run record */
	int error;	  /* an errno; 0: any other */
	int uring_error;  /* errno of a request by SEND_ZC or SENDMSG_ZC; 0: none */
};

enum refusal { REFUSAL_NUMBERS, REFUSALS };

const struct refusal_row *refusal__get(enum refusal refusal);
/* Returns the cause of an errno that only one cause has; REFUSAL_OTHER for other errnos. */
enum refusal refusal__of(int error);

/* Returns the name of the syscall. */
const char *call_name(enum call_kind kind);
/* Returns the name, such as "EAGAIN", of the error that the programs count at an index. */
const char *call_error_name(unsigned int index);
