/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What each group of --by counted in an interval: the kernel's counts less those of the line
 * before. */
#pragma once

#include "user/trace/groups.h"

struct tracer;

/* A group, ordered with the others: by key while they are compared, then by size of the change. */
struct group_counts {
	struct group_key key;
	struct group counts; /* as the kernel has them */
	struct group change; /* since the last line that was sent */
	bool changed;
};

struct group_list {
	struct group_counts *of;
	size_t count, room;
};

/* The lists and the rest are zero at first. */
struct interval_groups {
	size_t room;		     /* the kernel has room for so many groups */
	struct group_list now, sent; /* sent: as of the last line */
	struct group_counts rest_now, rest_sent;
	int err;
};

/* Forgets all counts: a window opens. */
void interval_groups__begin(struct interval_groups *g);
/*
 * Reads the groups. Returns an object of JSON, to be freed: groups with changes as of
 * tracer__write_group(), the largest first, as many as a line to the front has room for; rest, the
 * sum of the others and of sends without a group. NULL: they cannot be read.
 */
char *interval_groups__read(struct interval_groups *g, struct tracer *tracer);
/*
 * The line with the last reading was sent: the next changes count from there. If half of the room
 * is used, groups of ended processes are removed from the kernel's table.
 */
void interval_groups__sent(struct interval_groups *g, struct tracer *tracer);
void interval_groups__free(struct interval_groups *g);
