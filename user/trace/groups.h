/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Groups of sends (--by), and the counts of each. */
#pragma once

#include "bpf/abi.h"

#include <stdbool.h>
#include <stddef.h>

/* For how many groups there is room, unless --by-max says otherwise. */
#define GROUPS_MAX     65536
#define GROUPS_MAX_MAX 16777216

struct group_row {
	struct group_key key;
	struct group group;
};

/* "process,device,port", in any order, to a set of enum group_by. NULL, or the remedy in words. */
const char *groups__parse(const char *list, unsigned int *by);
/* The name of one of the set, as it is written there. */
const char *group_by_name(enum group_by one);

/* To see a group; what is not 0 ends it. */
typedef int (*group_visit)(void *context, const struct group_row *row);
/* Has each group of a map seen, once. 0 or -errno, also of see. */
int groups__each(int map, group_visit see, void *context);
/* Adds what was counted of one to another; names stay. */
void group__add(struct group *to, const struct group *from);
