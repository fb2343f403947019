// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/groups.h"

#include "common/units.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 4096

static const struct {
	enum group_by by;
	const char *name;
} dimensions[] = {{BY_PROCESS, "process"}, {BY_DEVICE, "device"}, {BY_PORT, "port"}};
#define DIMENSIONS (sizeof(dimensions) / sizeof(dimensions[0]))

static enum group_by dimension(const char *name)
{
	size_t i;

	for (i = 0; i < DIMENSIONS; i++)
		if (!strcmp(name, dimensions[i].name))
			return dimensions[i].by;
	return 0;
}

const char *groups__parse(const char *list, unsigned int *by)
{
	char item[UNITS_ITEM_MAX];
	const char *cursor = list;
	int taken;

	*by = 0;
	while ((taken = units__next(&cursor, item)) > 0) {
		if (!dimension(item))
			break;
		*by |= dimension(item);
	}
	return taken ? "give a list of process, device, port" : NULL;
}

const char *group_by_name(enum group_by one)
{
	size_t i;

	for (i = 0; i < DIMENSIONS; i++)
		if (dimensions[i].by == one)
			return dimensions[i].name;
	return "";
}

struct batch {
	struct group_key keys[BATCH];
	struct group values[BATCH];
};

static int append(struct groups *g, const struct batch *batch, size_t count)
{
	struct group_row *grown = reallocarray(g->rows, g->count + count + 1, sizeof(*g->rows));
	size_t i;

	if (!grown)
		return -ENOMEM;
	g->rows = grown;
	for (i = 0; i < count; i++)
		g->rows[g->count++] = (struct group_row){batch->keys[i], batch->values[i]};
	return 0;
}

/* Nobody writes any more: the window is closed. */
static int read_all(struct groups *g, int map, struct batch *batch)
{
	__u32 position = 0, count;
	bool begun = false;
	int err, added;

	do {
		count = BATCH;
		err = bpf_map_lookup_batch(map, begun ? &position : NULL, &position, batch->keys,
					   batch->values, &count, NULL);
		if (err && err != -ENOENT)
			return err;
		begun = true;
		added = append(g, batch, count);
		if (added)
			return added;
	} while (!err);
	return 0;
}

int groups__read(struct groups *out, int map, const struct group *rest)
{
	struct batch *batch = malloc(sizeof(*batch));
	int err;

	*out = (struct groups){.rest = *rest};
	if (!batch)
		return -ENOMEM;
	err = read_all(out, map, batch);
	free(batch);
	return err;
}

static int larger(__u64 a, __u64 b)
{
	return (a < b) - (a > b);
}

/* The key decides between equals, so that the order is always the same. */
static int compare_keys(const struct group_row *a, const struct group_row *b)
{
	return memcmp(&a->key, &b->key, sizeof(a->key));
}

static int compare_bytes(const void *x, const void *y)
{
	const struct group_row *a = x, *b = y;
	int order = larger(a->group.bytes, b->group.bytes);

	return order ? order : compare_keys(a, b);
}

static int compare_requests(const void *x, const void *y)
{
	const struct group_row *a = x, *b = y;
	int order = larger(a->group.requests, b->group.requests);

	return order ? order : compare_keys(a, b);
}

void groups__sort_by_bytes(struct groups *g)
{
	if (g->count)
		qsort(g->rows, g->count, sizeof(*g->rows), compare_bytes);
}

void groups__sort_by_requests(struct groups *g)
{
	if (g->count)
		qsort(g->rows, g->count, sizeof(*g->rows), compare_requests);
}

void groups__free(struct groups *g)
{
	free(g->rows);
	*g = (struct groups){};
}

void group__add(struct group *to, const struct group *from)
{
	to->sends += from->sends;
	to->failed += from->failed;
	to->interrupted += from->interrupted;
	to->bytes += from->bytes;
	to->timed += from->timed;
	to->ns += from->ns;
	to->requests += from->requests;
	to->ignored += from->ignored;
	to->refused += from->refused;
	to->zerocopy_bytes += from->zerocopy_bytes;
	to->completions += from->completions;
	to->copied += from->copied;
	to->unreported += from->unreported;
	to->unknown += from->unknown;
}

const char *group__address(__u16 family, const __u32 address[4], char text[INET6_ADDRSTRLEN])
{
	return family ? inet_ntop(family, address, text, INET6_ADDRSTRLEN) : NULL;
}
