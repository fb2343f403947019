/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Groups of sends (--by) and their counts. */
#pragma once

#include "bpf/abi.h"

/*
 * Parses "process,device,port", in any order, into a set of enum group_by. Returns NULL, or the
 * remedy in words.
 */
const char *groups__parse(const char *list, unsigned int *by);
/* The name of one member of the set. */
const char *group_by_name(enum group_by one);

/* Adds the counts of one group to another; names are unchanged. */
void group__add(struct group *to, const struct group *from);
