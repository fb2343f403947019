// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a reader must know of a run before its figures are believed. */
#include "user/record/record_parts.h"
#include "user/record/record_read.h"

#include <stdio.h>
#include <string.h>

#include "loadgen/send/send_ops.h"

static void add_warning(void *list, const char *code, const char *text)
{
	json_object *o = json_object_new_object();

	record__add_string(o, "code", code);
	record__add_string(o, "text", text);
	json_object_array_add(list, o);
}

/* Where all flags are alike, a neighbour's is as good. */
static void warn_assumed(const struct totals *t, json_object *list)
{
	__u64 copied = t->flagged + t->flag_added - t->flag_retracted;
	char text[128];

	if (!t->flag_assumed || !copied || copied == t->completions)
		return;
	snprintf(text, sizeof(text),
		 "%llu completions came out of order: their flag was taken from a neighbour",
		 (unsigned long long)t->flag_assumed);
	add_warning(list, "flag_assumed", text);
}

/* Latencies of an open loop know nothing of messages that were never begun. */
static void warn_unsent(const struct run_result *r, json_object *list)
{
	json_object *unsent = record__at(r->app, "/rate/unsent");
	char text[160];

	if (!json_object_get_uint64(unsent))
		return;
	snprintf(text, sizeof(text),
		 "--rate: of %llu messages that were due, %llu were not begun in time: latencies "
		 "leave them out",
		 (unsigned long long)json_object_get_uint64(record__at(r->app, "/rate/due")),
		 (unsigned long long)json_object_get_uint64(unsent));
	add_warning(list, "rate_not_kept", text);
}

/* bbr, and its later versions, pace by themselves; others only below a qdisc that does. */
static void warn_paced(json_object *record, json_object *list)
{
	const char *name = record__string(record, "/tcp/sending/congestion");
	const char *usual = record__string(record, "/host/settings/tcp_congestion_control");
	char text[200];

	if (!strncmp(name, "bbr", 3)) {
		snprintf(text, sizeof(text),
			 "TCP congestion control %.15s paces: rates are what it allows; --socket "
			 "congestion=reno sends at once",
			 name);
		add_warning(list, "paced", text);
	} else if (name[0] && !strncmp(usual, "bbr", 3) &&
		   !record__at(record, "/load/socket/congestion")) {
		snprintf(text, sizeof(text),
			 "the load used %.15s, as this machine's %.15s paces what stays within it; "
			 "--socket congestion=%.15s keeps that",
			 name, usual, usual);
		add_warning(list, "not_paced", text);
	}
}

static void warn_memory(json_object *record, json_object *list)
{
	bool system = !strcmp(record__string(record, "/memory/scope"), "system");
	char text[256];

	if (!json_object_get_boolean(record__at(record, "/memory/is_estimate")))
		return;
	snprintf(text, sizeof(text), "memory: an estimate, %s: %s",
		 record__string(record, "/memory/source"),
		 system ? "a cache behind these may have the lines"
			: "prefetches, write-backs and other programs are not in it, so it is too "
			  "low");
	add_warning(list, "memory_estimate", text);
}

static unsigned int busy_threads(const struct run_setup *setup)
{
	const struct send_ops *ops;

	if (setup->target)
		return 0;
	if (setup->load.workload == WORKLOAD_PROCINFO)
		return 2;
	ops = variants__find(setup->load.variant);
	return !ops || ops->flags & SEND_NOTHING ? 0 : 2 * setup->load.threads;
}

/* Were there sends that this hook is for? Those that the send hook misses it cannot tell of. */
static bool was_of_use(const struct run_result *r, enum hook_id id)
{
	struct zerocopy_sums calls, uring;

	measured__zerocopy(&r->measured, &calls);
	measured__uring(&r->measured, &uring);
	if (!hook__get(id)->zerocopy_only)
		return true;
	return id == HOOK_URING ? uring.requests : calls.requests;
}

/* Figures are of the other sends alone. A load's own are seen, or it fails. */
static void warn_unseen(const struct run_result *r, const struct run_setup *setup,
			json_object *list)
{
	const struct hook_option *send = r->plan.entries[HOOK_SEND].option;
	char text[256];

	if (!setup->target || !send || !send->unseen)
		return;
	snprintf(text, sizeof(text),
		 "sends by %s are not seen: this kernel has no hook that they pass", send->unseen);
	add_warning(list, "sends_unseen", text);
}

static void warn_misses(const struct run_result *r, json_object *list)
{
	const struct hook_option *option;
	char text[256];
	enum hook_id id;

	for (id = 0; id < HOOK_COUNT; id++) {
		option = r->plan.entries[id].option;
		if (!option || !r->plan.entries[id].reason[0] || !was_of_use(r, id) ||
		    (option->unseen && !strcmp(r->plan.entries[id].reason, option->misses)))
			continue;
		snprintf(text, sizeof(text), "hook %s: %.180s%s", hook__get(id)->name,
			 r->plan.entries[id].reason,
			 r->measured.missed_unknown[id] ? "; how often, this kernel does not count"
							: "");
		add_warning(list, "hook_misses", text);
	}
}

json_object *record__warnings(json_object *record, const struct run_result *r,
			      const struct run_setup *setup, const struct record_context *context)
{
	json_object *list = json_object_new_array();

	host__warn(context->host, busy_threads(setup), add_warning, list);
	warn_unseen(r, setup, list);
	warn_misses(r, list);
	warn_assumed(&r->measured.totals, list);
	warn_unsent(r, list);
	warn_paced(record, list);
	record__warn_noise(record, add_warning, list);
	warn_memory(record, list);
	if (r->interrupted)
		add_warning(list, "interrupted", "the run was interrupted before its time was up");
	if (r->error[0])
		add_warning(list, "load_failed", r->error);
	return list;
}
