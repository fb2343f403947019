/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the kernel programs counted, as JSON: by the names of members, from the types that the
 * programs were built with (their BTF). CPUs are summed up; what is 0 in an array is left out.
 */
#pragma once

#include "user/trace/tracer.h"

#include <stdio.h>

/* Adds an element of a map by CPU up, over the CPUs: into a value of the map's type. 0 or -errno.
 */
int tracer__sum(struct tracer *t, const char *map, __u32 index, void *sum);

/*
 * A text, at most so long, in quotes. The kernel lets a name have any bytes: those that are not
 * ASCII are written as Latin 1.
 */
void dump__text(FILE *out, const char *text, size_t size);

enum dump_what { DUMP_TOTALS_AND_CALLS, DUMP_ALL };

/*
 * An object, a member a map or variable: a value; an array as {"index": value}; a hash as
 * [[key, value], ...]. While the gate is open, what is being counted may be in one figure and not
 * yet in another. To be freed; NULL: it could not be read, or there is no memory.
 */
char *tracer__dump(struct tracer *t, enum dump_what what);
