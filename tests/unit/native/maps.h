/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel programs, compiled for this machine as a part of a test, with maps and a clock.
 * Variables that the analyzer sets before loading are not const, so that tests can set them.
 */
#pragma once

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <vmlinux.h>

#include <bpf/bpf_helpers.h>

/* If set, called at each map access and compare-and-swap, where another CPU may continue. */
static void (*maps__between)(void);

#define __sync_val_compare_and_swap(place, old, fresh)                                    \
	({                                                                                \
		typeof(*(place)) found_ = __sync_val_compare_and_swap(place, old, fresh); \
		if (maps__between)                                                        \
			maps__between();                                                  \
		found_;                                                                   \
	})

#define const
#include "bpf/completions.bpf.c"
#include "bpf/refusals.bpf.h"
#include "bpf/rx_pending.bpf.h"
#include "bpf/stages.bpf.c"
#undef const

/* If set, returns the time; else each reading of the clock is 100 ns after the last. */
static __u64 (*maps__clock)(void);

struct map {
	void *definition;
	__u32 key_size, value_size;
	bool is_array; /* all elements exist from the beginning, and are 0 */
	__u32 count, room;
	char **keys; /* each followed by its value */
	__u32 limit; /* most elements; 0: no limit */
};

/* clang-format off */
#define ROW(map, is_array) {&(map), sizeof(*(map).key), sizeof(*(map).value), is_array, 0, 0, NULL, 0}
/* clang-format on */
static struct map maps[] = {
	ROW(targets, false),	  ROW(sockets, false),	     ROW(totals, true),
	ROW(more_slots, false),	  ROW(shared, false),	     ROW(cause_index, false),
	ROW(cause_infos, false),  ROW(cause_counters, true), ROW(spans, true),
	ROW(pinned_peaks, true),  ROW(groups, false),	     ROW(peers, false),
	ROW(rx_pending, true),	  ROW(accounts, false),	     ROW(thread_owners, false),
	ROW(more_threads, false), ROW(dividing, true),	     ROW(stage_slots, true),
	ROW(seen_by_pairs, true), ROW(send_waits, true),
};
#define MAPS (sizeof(maps) / sizeof(maps[0]))

struct task_struct native_task;
__u64 (*native_counter)(void);
static __u64 now;
/* The CPU on which a program runs. Of the per-CPU maps, only seen_by_pairs is simulated per CPU. */
static __u32 native_cpu;

static struct map *map_of(const void *definition)
{
	size_t i;

	for (i = 0; i < MAPS; i++)
		if (maps[i].definition == definition)
			return &maps[i];
	abort();
}

/* Returns a value's offset, aligned for its type. */
static size_t value_at(const struct map *map)
{
	return (map->key_size + 63) & ~63UL;
}

static char *insert(struct map *map, const void *key)
{
	char *element = aligned_alloc(64, (value_at(map) + map->value_size + 63) & ~63UL);

	if (map->count == map->room) {
		map->room = 2 * map->room + 16;
		map->keys = realloc(map->keys, map->room * sizeof(*map->keys));
	}
	if (!element || !map->keys)
		abort();
	memset(element, 0, value_at(map) + map->value_size);
	memcpy(element, key, map->key_size);
	return map->keys[map->count++] = element;
}

static __u32 find(const struct map *map, const void *key)
{
	__u32 i;

	for (i = 0; i < map->count; i++)
		if (!memcmp(map->keys[i], key, map->key_size))
			break;
	return i;
}

void *bpf_map_lookup_elem(void *definition, const void *key)
{
	struct map *map = map_of(definition);
	__u32 i, of_cpu;

	if (maps__between)
		maps__between();
	if (definition == &seen_by_pairs) {
		of_cpu = *(const __u32 *)key + PAIRS * native_cpu;
		key = &of_cpu;
	}
	i = find(map, key);
	if (i == map->count && !map->is_array)
		return NULL;
	return (i == map->count ? insert(map, key) : map->keys[i]) + value_at(map);
}

long bpf_map_update_elem(void *definition, const void *key, const void *value, __u64 flags)
{
	struct map *map = map_of(definition);
	__u32 i = find(map, key);

	if (i < map->count && flags == BPF_NOEXIST)
		return -EEXIST;
	if (i == map->count && map->limit && i >= map->limit)
		return -E2BIG;
	memcpy((i == map->count ? insert(map, key) : map->keys[i]) + value_at(map), value,
	       map->value_size);
	return 0;
}

long bpf_map_delete_elem(void *definition, const void *key)
{
	struct map *map = map_of(definition);
	__u32 i = find(map, key);

	if (i == map->count)
		return -ENOENT;
	free(map->keys[i]);
	map->keys[i] = map->keys[--map->count];
	return 0;
}

long bpf_for_each_map_elem(void *definition, void *callback, void *context, __u64 flags)
{
	long (*each)(void *, const void *, void *, void *) = (void *)callback;
	struct map *map = map_of(definition);
	__u32 i;

	(void)flags;
	/* Begins at the end, because the last element replaces a deleted one. */
	for (i = map->count; i-- > 0;)
		each(definition, map->keys[i], map->keys[i] + value_at(map), context);
	return (long)map->count;
}

/* Limits the number of elements from now on; 0: no limit. */
static inline void maps__limit(void *definition, __u32 limit)
{
	map_of(definition)->limit = limit;
}

/* Returns how many elements a map has, or how many elements of an array were accessed. */
static inline __u32 maps__count(void *definition)
{
	return map_of(definition)->count;
}

/* Empties all hash maps, and sets the elements of arrays to 0. */
static inline void maps__clear(void)
{
	struct map *map;

	for (map = maps; map < maps + MAPS; map++) {
		while (map->count)
			free(map->keys[--map->count]);
		free(map->keys);
		map->keys = NULL;
		map->room = 0;
	}
	memset(slots, 0, sizeof(slots));
	more_slots_used = sockets_kept = sockets_closed = 0;
}

__u64 bpf_ktime_get_ns(void)
{
	return maps__clock ? maps__clock() : (now += 100);
}
