/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Groups of sends: what --by asks for, and what was counted of each. */
#pragma once

#include "bpf/abi.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stddef.h>

/* For how many groups there is room, unless --by-max says otherwise. */
#define GROUPS_MAX     65536
#define GROUPS_MAX_MAX 16777216

struct group_row {
	struct group_key key;
	struct group group;
};

struct groups {
	struct group_row *rows; /* largest first */
	size_t count;
	struct group rest; /* what found no room among them */
};

/* "process,device,port", in any order, to a set of enum group_by. NULL, or the remedy in words. */
const char *groups__parse(const char *list, unsigned int *by);
/* The name of one of the set, as it is written there. */
const char *group_by_name(enum group_by one);

/* To see a group; what is not 0 ends it. */
typedef int (*group_visit)(void *context, const struct group_row *row);
/* Has each group of a map seen, once. 0 or -errno, also of see. */
int groups__each(int map, group_visit see, void *context);
/*
 * Reads a map of groups, and what its programs charged to the rest. 0 or -errno; in
 * any case to be freed.
 */
int groups__read(struct groups *out, int map, const struct group *rest);
/* The largest first: of bytes, or of zero-copy requests. */
void groups__sort(struct groups *g, bool by_requests);
void groups__free(struct groups *g);

/* Adds what was counted of one to another; names stay. */
void group__add(struct group *to, const struct group *from);
/* "10.0.0.2" or "fe80::1"; NULL where the family is not known. */
const char *group__address(__u16 family, const __u32 address[4], char text[INET6_ADDRSTRLEN]);
