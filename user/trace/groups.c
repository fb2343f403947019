// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/groups.h"

#include "common/units.h"

#include <string.h>

/* The names of the bits. */
static const char *const dimensions[] = {"process", "device", "port"};
_Static_assert(BY_PROCESS == 1 && BY_DEVICE == 2 && BY_PORT == 4, "names are in this order");
#define DIMENSIONS (sizeof(dimensions) / sizeof(dimensions[0]))

const char *groups__parse(const char *list, unsigned int *by)
{
	char item[UNITS_ITEM_MAX];
	const char *cursor = list;
	int taken;
	size_t i;

	*by = 0;
	while ((taken = units__next(&cursor, item)) > 0) {
		for (i = 0; i < DIMENSIONS && strcmp(item, dimensions[i]); i++)
			;
		if (i == DIMENSIONS)
			break;
		*by |= 1u << i;
	}
	return taken ? "give a list of process, device, port" : NULL;
}

const char *group_by_name(enum group_by one)
{
	return dimensions[__builtin_ctz(one)];
}

/* Adds the members from begin to end, each a word. */
static void add_words(struct group *to, const struct group *from, size_t begin, size_t end)
{
	const __u64 *counts = (const __u64 *)from;
	__u64 *sums = (__u64 *)to;

	for (size_t i = begin / sizeof(*sums); i < end / sizeof(*sums); i++)
		sums[i] += counts[i];
}

void group__add(struct group *to, const struct group *from)
{
	add_words(to, from, 0, offsetof(struct group, address));
	add_words(to, from, offsetof(struct group, completions), sizeof(*to));
}
