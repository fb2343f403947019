/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names and adds groups of sends (--by). */
#pragma once

#include "bpf/abi.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Parses "process,device,port,cgroup", in any order, into a set of enum group_by. Returns NULL, or
 * the remedy in words.
 */
const char *groups__parse(const char *list, unsigned int *by);
/* Returns the name of one member of the set. */
const char *group_by_name(enum group_by one);

/* Returns whether control groups of version 2 are mounted. */
bool groups__has_cgroup2(void);
#define CGROUP_TEXT_MAX (CGROUP_PATH_MAX + CGROUP_NAME_MAX + 2)
/* Writes the path, outermost name first; "" if a part of it is unknown. */
void groups__path(const struct cgroup_path *path, char *text, size_t size);

/*
 * Returns whether the process has ended, with all its sends complete. When the table of groups is
 * nearly full (crowded), it is not required that they are complete: later completions count for the
 * rest. A process without an id in this PID namespace then counts as ended: if it lives, it gets a
 * new group.
 */
bool group__is_over(const struct group *g, bool crowded);
/* Adds the counts of one group to another; names are unchanged. */
void group__add(struct group *to, const struct group *from);
/* Subtracts the counts. Returns whether any count is then not 0. */
bool group__subtract(struct group *from, const struct group *what);
