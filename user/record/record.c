// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/record/record.h"

#include "user/record/record_parts.h"

#include "common/hist_stats.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static json_object *time_text(const struct timespec *when)
{
	char day[32], text[64];
	struct tm tm;

	gmtime_r(&when->tv_sec, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, sizeof(text), "%s.%06ldZ", day, when->tv_nsec / 1000);
	return json_object_new_string(text);
}

/* What a busy hypervisor took while the window was open, or NOISE_UNKNOWN, said. */
static double steal_share(const struct run_result *r, struct unmeasured *u)
{
	if (r->window && r->noise.steal_share >= 0)
		return r->noise.steal_share;
	unmeasured__add(u, "run.steal_share",
			r->window ? "too short a window, or /proc/stat does not tell"
				  : "no window was measured");
	return NOISE_UNKNOWN;
}

static json_object *run_block(const struct run_setup *setup, const struct record_context *context,
			      double steal)
{
	json_object *o = json_object_new_object();
	char cell[256] = "observation";

	if (!setup->target)
		record__cell_name(&setup->load, cell, sizeof(cell));
	record__add_string(o, "id", context->id);
	json__add_text(o, "command", setup->command);
	record__add_string(o, "cell", cell);
	record__add_int_if(o, "repeat", true, context->repeat);
	record__add_int_if(o, "seed", context->ordered, context->seed);
	record__add_double_if(o, "steal_share", steal >= 0, steal);
	return o;
}

static json_object *hook_block(const struct run_result *r, enum hook_id id)
{
	const struct plan_entry *entry = &r->plan.entries[id];
	bool known = entry->option && !r->measured.missed_unknown[id];
	json_object *o = json_object_new_object();

	record__add_string(o, "name", hook__get(id)->name);
	record__add_string(o, "mechanism",
			   entry->option ? mechanism_name(entry->option->mechanism) : NULL);
	record__add_string(o, "symbol", entry->option ? entry->symbol : NULL);
	record__add_string(o, "status",
			   entry->option		    ? "attached"
			   : entry->status == HOOK_DISABLED ? "disabled"
							    : "unavailable");
	json__add_text(o, "reason", entry->reason);
	json__add_known(o, "missed", known, r->measured.missed[id]);
	return o;
}

static json_object *plan_block(const struct run_result *r, struct unmeasured *u)
{
	json_object *o = json_object_new_object(), *hooks = json_object_new_array();
	enum mechanism tier = plan__tier(&r->plan);
	bool unknown = false;
	enum hook_id id;

	record__add_string(o, "tier", tier == MECHANISM_OFF ? NULL : mechanism_name(tier));
	for (id = 0; id < HOOK_COUNT; id++) {
		json_object_array_add(hooks, hook_block(r, id));
		unknown |= r->measured.missed_unknown[id];
	}
	if (unknown)
		unmeasured__add(u, "plan.hooks.missed",
				"of kprobes the kernel counts skipped runs from Linux 6.7 on");
	json__add(o, "hooks", hooks);
	return o;
}

#define NO_LOAD "a program was observed, no load was run"

/* Sends that were not measured, because they are not TCP's. */
static json_object *others_block(const struct run_result *r, struct unmeasured *u)
{
	json_object *o;

	if (!plan__sees_others(&r->plan)) {
		unmeasured__add(u, "observed.others",
				"sends by MPTCP, and zero-copy sends by UDP, were not looked at: "
				"no hook here is at tracepoint sock_send_length");
		return NULL;
	}
	o = json_object_new_object();
	json__add_count(o, "mptcp_sends", r->measured.totals.mptcp_sends);
	json__add_count(o, "mptcp_bytes", r->measured.totals.mptcp_bytes);
	json__add_count(o, "zerocopy_requests", r->measured.totals.other_requests);
	return o;
}

/* What was observed; null where a load was run. */
static json_object *observed_block(const struct run_result *r, const struct run_setup *setup,
				   struct unmeasured *u)
{
	static const char *const by[] = {"process", "comm", "cgroup", "all"};
	json_object *o;
	char text[512];

	if (!setup->target)
		return NULL;
	o = json_object_new_object();
	target__text(setup->target, text, sizeof(text));
	record__add_string(o, "by", setup->target->command ? "command" : by[setup->target->by]);
	record__add_string(o, "what", text);
	record__add_double_if(o, "seconds", true, r->observed_s);
	json__add_count(o, "in_flight", r->in_flight);
	record__add_int_if(o, "exit_status", setup->target->command, r->command_status);
	json__add(o, "others", others_block(r, u));
	return o;
}

static json_object *receiver_block(const struct run_result *r, bool peer, struct unmeasured *u)
{
	json_object *o;

	if (peer)
		unmeasured__add(u, "receiver", "the receiver is on another machine");
	if (peer || !unmeasured__unless_hooked(u, "receiver", r, HOOK_RECEIVER_COPY))
		return NULL;
	o = json_object_new_object();
	json__add_count(o, "copies", r->measured.totals.receiver_copies);
	json__add_count(o, "bytes", r->measured.totals.receiver_bytes);
	json__add(o, "copy_ns",
		  unmeasured__unless_hooked(u, "receiver.copy_ns", r, HOOK_COPY_OUT)
			  ? hist__json(&r->measured.spans[SPAN_COPY_OUT], "skb_copy_datagram_iter")
			  : NULL);
	return o;
}

/* ns on the CPU of both sides, from their task-clock counters; 0 if unknown. */
static double cpu_ns(const struct run_side *side)
{
	size_t i;

	for (i = 0; i < side->count; i++)
		if (!strcmp(side->values[i].event, "task-clock"))
			return side->values[i].value;
	return 0;
}

static json_object *observer_block(const struct run_result *r, const struct run_setup *setup,
				   struct unmeasured *u)
{
	double cpu = cpu_ns(&r->sender) + cpu_ns(&r->receiver);
	json_object *o;

	if (!setup->cost) {
		unmeasured__add(u, "observer", "asked for with --cost, because counting costs too");
		return NULL;
	}
	o = json_object_new_object();
	json__add_count(o, "bpf_ns", r->measured.bpf_ns);
	json__add_count(o, "bpf_runs", r->measured.bpf_runs);
	record__add_double_if(o, "cpu_share", cpu > 0, (double)r->measured.bpf_ns / cpu);
	return o;
}

static void add_head(json_object *o, const char *schema, const struct timespec *started,
		     const struct run_setup *setup, const struct record_context *context,
		     double steal)
{
	json_object *tool = json_object_new_object();

	record__add_string(o, "schema", schema);
	record__add_string(tool, "version", SENDPATH_VERSION);
	json__add(o, "tool", tool);
	json__add(o, "started", time_text(started));
	json__add(o, "run", run_block(setup, context, steal));
	json__add(o, "host",
		  context->machine ? json_object_get(context->machine) : host__json(context->host));
}

void record__run_id(char *id, size_t size, const struct timespec *started, size_t run)
{
	snprintf(id, size, "%lld.%06ld-%d-%zu", (long long)started->tv_sec, started->tv_nsec / 1000,
		 (int)getpid(), run);
}

json_object *record__failure(const struct timespec *started, const struct run_setup *setup,
			     const struct record_context *context, const char *outcome,
			     const char *error)
{
	static const char *const unknown[] = {"sender_pid", "receiver_pid", "pinning"};
	static const struct run_result none;
	struct unmeasured u = {json_object_new_array()};
	json_object *o = json_object_new_object(), *load = record__load(&none, &setup->load, &u);
	size_t i;

	for (i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		json_object_object_del(load, unknown[i]);
	add_head(o, "sendpath.failure/1", started, setup, context, NOISE_UNKNOWN);
	json__add(o, "load", load);
	json__add(o, "complete", json_object_new_boolean(false));
	record__add_string(o, "outcome", outcome);
	record__add_string(o, "error", error);
	json_object_put(u.list);
	return o;
}

json_object *record__build(const struct run_result *r, const struct run_setup *setup,
			   const struct record_context *context)
{
	json_object *o = json_object_new_object();
	struct unmeasured u = {json_object_new_array()};

	add_head(o, RECORD_SCHEMA, &r->started, setup, context, steal_share(r, &u));
	json__add(o, "privilege", json_object_get(context->privilege));
	json__add(o, "plan", plan_block(r, &u));
	json__add(o, "load", setup->target ? NULL : record__load(r, &setup->load, &u));
	json__add(o, "observed", observed_block(r, setup, &u));
	json__add(o, "serving", record__taken(r->app, "serving"));
	json__add(o, "tcp", record__tcp(r, setup, &u));
	json__add(o, "app", json_object_get(r->app));
	if (setup->target)
		unmeasured__add(&u, "load", NO_LOAD);
	if (!r->app)
		unmeasured__add(&u, "app", setup->target ? NO_LOAD : r->error);
	record__add_noise(o, r, setup, &u);
	json__add(o, "calls", record__calls(r, setup, &u));
	json__add(o, "by", record__by(r, setup));
	json__add(o, "zerocopy", record__zerocopy(r, setup, &u));
	json__add(o, "receiver", receiver_block(r, setup->load.peer, &u));
	json__add(o, "counters", record__counters(r, setup, &u));
	json__add(o, "memory", record__memory(r, &u));
	json__add(o, "lost", record__lost(r, &u));
	json__add(o, "observer", observer_block(r, setup, &u));
	json__add(o, "complete", json_object_new_boolean(!r->interrupted && !r->error[0]));
	json__add(o, "warnings", record__warnings(o, r, setup, context));
	json__add(o, "unmeasured", u.list);
	return o;
}
