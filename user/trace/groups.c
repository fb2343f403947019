// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/groups.h"

#include "common/units.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 4096

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

struct batch {
	struct group_key keys[BATCH];
	struct group values[BATCH];
};

/* The kernel iterates over buckets: an element that is added meanwhile may be missed. */
static int each(int map, struct batch *batch, group_visit see, void *context)
{
	__u32 position = 0, count, i;
	bool begun = false;
	int err, seen = 0;

	do {
		count = BATCH;
		err = bpf_map_lookup_batch(map, begun ? &position : NULL, &position, batch->keys,
					   batch->values, &count, NULL);
		if (err && err != -ENOENT)
			return err;
		begun = true;
		for (i = 0; i < count && !seen; i++)
			seen = see(context, &batch->keys[i], &batch->values[i]);
	} while (!err && !seen);
	return seen;
}

int groups__each(int map, group_visit see, void *context)
{
	struct batch *batch = malloc(sizeof(*batch));
	int err = batch ? each(map, batch, see, context) : -ENOMEM;

	free(batch);
	return err;
}

/* Adds the members from begin to end, each a word. */
static void add_words(struct group *to, const struct group *from, size_t begin, size_t end)
{
	const __u64 *counts = (const __u64 *)from;
	__u64 *sums = (__u64 *)to;
	size_t i;

	for (i = begin / sizeof(*sums); i < end / sizeof(*sums); i++)
		sums[i] += counts[i];
}

void group__add(struct group *to, const struct group *from)
{
	add_words(to, from, 0, offsetof(struct group, address));
	add_words(to, from, offsetof(struct group, completions), sizeof(*to));
}
