/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the kernel programs counted, as JSON: members have the names of the programs' own types
 * (their BTF). CPUs are summed up; zeros in arrays are left out.
 */
#pragma once

#include "user/trace/tracer.h"

#include <stdio.h>

/* Sums up an element of a per-CPU map into a value of the map's type. 0 or -errno. */
int tracer__sum(struct tracer *t, const char *map, __u32 index, void *sum);

/*
 * A text, at most so long, in quotes. The kernel lets a name have any bytes: those that are not
 * ASCII are written as Latin 1.
 */
void dump__text(FILE *out, const char *text, size_t size);

enum dump_what { DUMP_TOTALS_AND_CALLS, DUMP_ALL };

/*
 * An object whose members are maps and variables: a value; an array as {"index": value}; a hash as
 * [[key, value], ...]. While the gate is open, an event may be in one number and not yet in
 * another. The caller frees it; NULL: it could not be read, or memory is short.
 */
char *tracer__dump(struct tracer *t, enum dump_what what);
