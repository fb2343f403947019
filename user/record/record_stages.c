// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* calls[].cpu_ns and calls[].stages: where the time of a send went. */
#include "user/record/record_parts.h"

#include "user/kernel/stages.h"

#include "common/hist_stats.h"

#include <stdio.h>

#define MAY_COST "asked for with --stages, because it costs"

static enum hook_id hook_of(const struct stage_row *row, enum call_kind kind)
{
	return row->stage == STAGE_ENTRY ? stage__entry_hook(kind) : row->hook;
}

/* Why no hook sees it; NULL: one does, or none is needed. */
static const char *unseen(const struct stage_row *row, enum hook_id hook,
			  const struct run_result *r)
{
	if (hook == HOOK_COUNT)
		return row->stage == STAGE_ENTRY
			       ? "only of sendto, sendmsg, write and writev the beginning is hooked"
			       : NULL;
	return r->plan.entries[hook].option ? NULL : r->plan.entries[hook].reason;
}

/* One metric of a stage, as the programs counted it. */
static const struct hist *part_of(const struct run_result *r, __u32 slot, size_t metric,
				  enum stage stage)
{
	return &r->measured.stages[metric * CALL_SLOTS + slot].of[stage];
}

static json_object *part_counters(const struct run_result *r, const struct counter_events *events,
				  __u32 slot, enum stage stage)
{
	json_object *o, *list = json_object_new_array();
	size_t i;

	for (i = 0; i < counter_events__count(events); i++) {
		o = hist__json_coarse(part_of(r, slot, i + 1, stage), "");
		json_object_object_del(o, "span");
		record__add_string(o, "event", counter_events__name(events, i));
		json_object_array_add(list, o);
	}
	return list;
}

static json_object *part(const struct run_result *r, const struct run_setup *setup, __u32 slot,
			 const struct stage_row *row, struct unmeasured *u)
{
	const char *why = unseen(row, hook_of(row, slot / 2), r);
	json_object *o = json_object_new_object(), *ns;
	char key[64];

	record__add_string(o, "stage", row->name);
	json__add(o, "on_cpu", json_object_new_boolean(row->stage < STAGES_ON_CPU));
	ns = why ? NULL : hist__json_coarse(part_of(r, slot, STAGE_TIME, row->stage), "");
	if (ns)
		json_object_object_del(ns, "span");
	json__add(o, "ns", ns);
	json__add(o, "counters",
		  why ? json_object_new_array()
		      : part_counters(r, setup->call_counters, slot, row->stage));
	snprintf(key, sizeof(key), "calls.stages.%s", row->name);
	if (why)
		unmeasured__add(u, key, why);
	return o;
}

/* Of no use to a send that asks for no zero-copy, unless it handed over pages all the same. */
static bool applies(const struct run_result *r, __u32 slot, const struct stage_row *row)
{
	return !row->zerocopy || slot & 1 || part_of(r, slot, STAGE_TIME, row->stage)->count;
}

static const char *span_of(const struct run_result *r, __u32 slot)
{
	const struct hook_option *send = r->plan.entries[HOOK_SEND].option;
	enum hook_id entry = stage__entry_hook(slot / 2);

	return entry != HOOK_COUNT && r->plan.entries[entry].option ? "syscall..tcp_sendmsg"
								    : send->span;
}

void record__add_stages(json_object *call, const struct run_result *r,
			const struct run_setup *setup, __u32 slot, struct unmeasured *u)
{
	const struct stage_sums *s = r->measured.stages ? &r->measured.stages[slot] : NULL;
	json_object *o = NULL, *parts;
	size_t i;

	if (s && s->of[STAGE_WHOLE].count) {
		o = json_object_new_object();
		record__add_string(o, "span", span_of(r, slot));
		json__add_count(o, "one_in", setup->sample ? setup->sample : 1);
		json__add_count(o, "sends", s->of[STAGE_WHOLE].count);
		json__add_count(o, "bytes", s->bytes);
		json__add(o, "wall_ns", hist__json_coarse(&s->of[STAGE_WHOLE], span_of(r, slot)));
		parts = json_object_new_array();
		for (i = 0; i < STAGES; i++)
			if (applies(r, slot, &stage_rows[i]))
				json_object_array_add(parts,
						      part(r, setup, slot, &stage_rows[i], u));
		json__add(o, "parts", parts);
	}
	json__add(call, "cpu_ns",
		  o ? hist__json_coarse(&s->of[STAGE_ON_CPU], span_of(r, slot)) : NULL);
	json__add(call, "stages", o);
}

void record__explain_stages(const struct run_setup *setup, struct unmeasured *u)
{
	if (setup->stages)
		return;
	unmeasured__add(u, "calls.cpu_ns", MAY_COST);
	unmeasured__add(u, "calls.stages", MAY_COST);
}
