// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* calls[]: a row for each syscall and kind of send that occurred. */
#include "user/record/record_parts.h"

#include "user/kernel/calls.h"

#include "common/hist_stats.h"

#include <stdio.h>

static json_object *errors(const __u64 *counts)
{
	json_object *o = json_object_new_object();
	unsigned int i;

	for (i = 0; i < ERRNO_SLOTS; i++)
		if (counts[i])
			json__add_count(o, call_error_name(i), counts[i]);
	return o;
}

/* Rows [low, high, sends, bytes], both ends included. */
static json_object *sizes(const struct call_slot *s)
{
	json_object *row, *rows = json_object_new_array();
	__u32 i;

	for (i = 0; i < SIZE_CLASSES; i++) {
		if (!s->sizes[i].sends)
			continue;
		row = json_object_new_array();
		json_object_array_add(row, json_object_new_uint64((1ULL << i) >> 1));
		json_object_array_add(row, json_object_new_uint64((1ULL << i) - 1));
		json_object_array_add(row, json_object_new_uint64(s->sizes[i].sends));
		json_object_array_add(row, json_object_new_uint64(s->sizes[i].bytes));
		json_object_array_add(rows, row);
	}
	return rows;
}

/* What the counters said of the sends that stayed on their CPU. */
static json_object *counters(const struct call_slot *s, const struct counter_events *events)
{
	json_object *o, *list, *row;
	size_t i;

	if (!counter_events__count(events))
		return NULL;
	o = json_object_new_object();
	list = json_object_new_array();
	json__add_count(o, "sends", s->counted);
	json__add_count(o, "left_out", s->left_out);
	for (i = 0; i < counter_events__count(events); i++) {
		row = json_object_new_object();
		record__add_string(row, "event", counter_events__name(events, i));
		json__add_count(row, "sum", s->counters[i]);
		json_object_array_add(list, row);
	}
	json__add(o, "events", list);
	return o;
}

static json_object *call(const struct run_result *r, const struct run_setup *setup, __u32 slot,
			 struct unmeasured *u)
{
	const struct call_slot *s = &r->measured.calls[slot];
	const struct hook_option *option = r->plan.entries[HOOK_SEND].option;
	struct sized_sends accepted = call__accepted(s);
	__u64 sends = accepted.sends + s->failed;
	enum call_kind kind = slot / 2;
	json_object *o = json_object_new_object();
	char key[64];

	record__add_string(o, "syscall", call_name(kind));
	json__add(o, "zerocopy", json_object_new_boolean(slot & 1));
	record__add_string(o, "notified_by",
			   !(slot & 1)		      ? NULL
			   : kind == CALL_IO_URING_ZC ? "io_uring"
						      : "error queue");
	json__add_count(o, "sends", sends);
	json__add_known(o, "syscalls", call_sends_once(kind), sends);
	if (!call_sends_once(kind)) {
		snprintf(key, sizeof(key), "calls.%s.syscalls", call_name(kind));
		unmeasured__add(
			u, key,
			"one such syscall can be several sends, and syscalls are not traced");
	}
	json__add_count(o, "bytes", accepted.bytes);
	json__add(o, "sizes", sizes(s));
	json__add(o, "errors", errors(r->measured.errors[slot]));
	json__add_count(o, "timed_one_in", setup->sample ? setup->sample : 1);
	json__add(o, "wall_ns",
		  option && s->wall.count ? hist__json(&s->wall, option->span) : NULL);
	record__add_stages(o, r, setup, slot, u);
	json__add(o, "counters", counters(s, setup->call_counters));
	return o;
}

json_object *record__calls(const struct run_result *r, const struct run_setup *setup,
			   struct unmeasured *u)
{
	json_object *list;
	__u32 slot;

	if (!unmeasured__unless_hooked(u, "calls", r, HOOK_SEND))
		return NULL;
	list = json_object_new_array();
	for (slot = 0; slot < CALL_SLOTS; slot++)
		if (call__sends(&r->measured.calls[slot]))
			json_object_array_add(list, call(r, setup, slot, u));
	if (!counter_events__count(setup->call_counters))
		unmeasured__add(u, "calls.counters",
				"asked for with --call-counters, because reading them costs");
	record__explain_stages(setup, u);
	return list;
}
