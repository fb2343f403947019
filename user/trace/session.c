// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/session.h"

#include "user/trace/tracer_private.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

static bool same_entry(const struct plan_entry *a, const struct plan_entry *b)
{
	return a->option == b->option && a->also == b->also && !strcmp(a->symbol, b->symbol);
}

/* Returns whether the tracer's programs are those that this plan and setup would load. */
static bool fits(const struct tracer *t, const struct plan *plan, const struct tracer_setup *setup)
{
	const struct tracer_setup *had = &t->setup;
	enum hook_id id;

	for (id = 0; id < HOOK_COUNT; id++)
		if (!same_entry(&t->planned.entries[id], &plan->entries[id]))
			return false;
	return had->features == setup->features && had->call_counters == setup->call_counters &&
	       had->target == setup->target && had->by == setup->by &&
	       had->by_max == setup->by_max && had->stages == setup->stages &&
	       had->sample == setup->sample && had->profile == setup->profile &&
	       had->timeline == setup->timeline && had->slower_ns == setup->slower_ns &&
	       had->cost == setup->cost && t->skel->rodata->optmem_max == tracer__optmem_max();
}

/* Deletes all keys. Programs may delete some at the same time. Returns 0 or -errno. */
static int delete_all(const struct bpf_map *map)
{
	size_t size = bpf_map__key_size(map);
	void *key = malloc(size);
	int err = key ? 0 : -ENOMEM;

	while (!err && !bpf_map__get_next_key(map, NULL, key, size)) {
		err = bpf_map__delete_elem(map, key, size, 0);
		err = err == -ENOENT ? 0 : err;
	}
	free(key);
	return err;
}

static int write_zeros(const struct bpf_map *map)
{
	size_t size = tracer__stride(map) * tracer__parts(map);
	void *zeros = calloc(1, size);
	int err = zeros ? 0 : -ENOMEM;
	__u32 i;

	for (i = 0; i < bpf_map__max_entries(map) && !err; i++)
		err = bpf_map__update_elem(map, &i, sizeof(i), zeros, size, BPF_ANY);
	free(zeros);
	return err;
}

static int empty_maps(const struct tracer *t, enum bpf_map_type type,
		      int (*empty)(const struct bpf_map *map))
{
	const struct bpf_map *map;
	int err = 0;

	bpf_object__for_each_map (map, t->skel->obj)
		if (!err && bpf_map__fd(map) >= 0 && bpf_map__type(map) == type &&
		    !bpf_map__is_internal(map))
			err = empty(map);
	return err;
}

/*
 * Restores the state that the maps had after loading. The gate is closed, and a program that finds
 * no socket, notification or thread in a map changes nothing. Therefore the hashes are emptied
 * first, then the arrays, to which running programs may still add until they end. Returns -errno if
 * it is unknown whether they have ended, or if a map cannot be written.
 */
static int empty(struct tracer *t)
{
	int err = tracer__gate_settled(t, GATE_CLOSED);

	if (!err)
		err = empty_maps(t, BPF_MAP_TYPE_HASH, delete_all);
	if (!err)
		err = tracer__gate_settled(t, GATE_CLOSED);
	if (!err)
		err = empty_maps(t, BPF_MAP_TYPE_PERCPU_ARRAY, write_zeros);
	if (!err)
		err = empty_maps(t, BPF_MAP_TYPE_ARRAY, write_zeros);
	if (!err)
		memset(t->skel->bss, 0, sizeof(*t->skel->bss));
	return err;
}

/* Removes a fitting tracer from the session and returns it. NULL: none fits. */
static struct tracer *reuse_tracer(struct session *s, const struct plan *plan,
				   const struct tracer_setup *setup)
{
	struct tracer *t;
	size_t i;

	for (i = 0; i < SESSION_TRACERS; i++) {
		t = s->tracers[i];
		if (!t || !fits(t, plan, setup))
			continue;
		s->tracers[i] = NULL;
		return t;
	}
	return NULL;
}

/* Detaches the first tracer, moves all back by one place, and frees the last one. */
static void move_back(struct session *s)
{
	size_t last = SESSION_TRACERS - 1;

	if (!s->tracers[0])
		return;
	tracer__detach_programs(s->tracers[0]);
	tracer__free(s->tracers[last]);
	memmove(&s->tracers[1], &s->tracers[0], last * sizeof(s->tracers[0]));
	s->tracers[0] = NULL;
}

int session__tracer(struct session *s, struct tracer **out, struct plan *plan,
		    const struct tracer_setup *setup, struct failure *f)
{
	struct tracer *t = reuse_tracer(s, plan, setup);
	bool is_new = t && s->ahead;
	int err = 0;

	s->ahead = false;
	move_back(s);
	if (t && !is_new && empty(t)) {
		tracer__free(t);
		t = NULL;
	}
	if (!t)
		err = tracer__attach(&t, plan, setup, f);
	else if (t->attached_count)
		*plan = t->attached_as;
	else
		err = tracer__attach_programs(t, plan, f);
	if (err) {
		tracer__free(t);
		t = NULL;
	}
	*out = s->tracers[0] = t;
	return err;
}

void session__free(struct session *s)
{
	size_t i;

	for (i = 0; i < SESSION_TRACERS; i++)
		tracer__free(s->tracers[i]);
	*s = (struct session){};
}
