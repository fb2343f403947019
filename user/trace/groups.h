/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Groups of sends (--by) and their counts. */
#pragma once

#include "bpf/abi.h"

#include <stdbool.h>
#include <stddef.h>

/* The number of groups for which there is room by default (--by-max). */
#define GROUPS_MAX     65536
#define GROUPS_MAX_MAX 16777216

/*
 * Parses "process,device,port", in any order, into a set of enum group_by. Returns NULL, or the
 * remedy in words.
 */
const char *groups__parse(const char *list, unsigned int *by);
/* The name of one member of the set. */
const char *group_by_name(enum group_by one);

/* Called with each group; a result other than 0 ends the iteration. */
typedef int (*group_visit)(void *context, const struct group_key *key, const struct group *group);
/* Visits each group of a map once. 0 or -errno, also that of see. */
int groups__each(int map, group_visit see, void *context);
/* Adds the counts of one group to another; names are unchanged. */
void group__add(struct group *to, const struct group *from);
