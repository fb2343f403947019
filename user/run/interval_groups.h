/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds what each group of --by counted in an interval: the difference to the line before. */
#pragma once

#include "user/trace/groups.h"

struct tracer;

/* A group, ordered with the others: by key while they are compared, then by size of the change. */
struct group_counts {
	struct group_key key;
	struct group counts; /* as the kernel has them */
	struct group change; /* since the most recent line that was sent */
	bool changed;
};

struct group_list {
	struct group_counts *of;
	size_t count, room;
};

/* The lists and the rest are zero at first. */
struct interval_groups {
	size_t room;		     /* the kernel has room for this many groups */
	struct group_list now, sent; /* sent: as of the most recent line */
	struct group_counts rest_now, rest_sent;
	int err;
};

/* Forgets all counts, when a window opens. */
void interval_groups__begin(struct interval_groups *g);
/*
 * Reads the groups. Returns an object of JSON, to be freed; NULL: the groups cannot be read. The
 * member groups has the groups with changes, as from tracer__write_group(). The largest are first,
 * and as many are written as a line to the front has room for. The member rest is the sum of the
 * other groups and of sends without a group.
 */
char *interval_groups__read(struct interval_groups *g, struct tracer *tracer);
/*
 * The line with the most recent reading was sent: the next changes count from that reading. If half
 * of the room is used, groups of ended processes are removed from the kernel's table.
 */
void interval_groups__sent(struct interval_groups *g, struct tracer *tracer);
void interval_groups__free(struct interval_groups *g);
