// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "record.h"

#include "record_parts.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "loadgen/link.h"
#include "loadgen/send_ops.h"

static void add_string(json_object *o, const char *key, const char *value)
{
	json_object_object_add(o, key, value ? json_object_new_string(value) : NULL);
}

static json_object *time_text(const struct timespec *when)
{
	char day[32], text[64];
	struct tm tm;

	gmtime_r(&when->tv_sec, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, sizeof(text), "%s.%06ldZ", day, when->tv_nsec / 1000);
	return json_object_new_string(text);
}

void record__cell_name(const struct load *load, char *name, size_t size)
{
	if (load->workload == WORKLOAD_PROCINFO)
		snprintf(name, size, "procinfo,%s,%uc,%s,%ub", load->server_model,
			 load->connections, client_model_name(load->client_model), load->backlog);
	else
		snprintf(name, size, "%s%s,%zuB,%uf,%ut",
			 load->workload == WORKLOAD_REQUEST ? "request," : "", load->variant,
			 load->message_bytes, load->fields, load->threads);
	if (load->workload != WORKLOAD_PROCINFO)
		record__name_sending(load, name, size);
}

static json_object *run_block(const struct run_setup *setup, const struct record_context *context)
{
	json_object *o = json_object_new_object();
	char cell[256] = "observation";

	if (!setup->target)
		record__cell_name(&setup->load, cell, sizeof(cell));
	add_string(o, "id", context->id);
	add_string(o, "cell", cell);
	json_object_object_add(o, "repeat", json_object_new_int((int)context->repeat));
	json_object_object_add(o, "seed", NULL);
	return o;
}

static json_object *hook_block(const struct plan_entry *entry, enum hook_id id, __u64 missed)
{
	json_object *o = json_object_new_object();

	add_string(o, "name", hook__get(id)->name);
	add_string(o, "mechanism", entry->way ? mechanism_name(entry->way->mechanism) : NULL);
	add_string(o, "symbol", entry->way ? entry->symbol : NULL);
	add_string(o, "status",
		   entry->way			    ? "attached"
		   : entry->status == HOOK_DISABLED ? "disabled"
						    : "unavailable");
	add_string(o, "reason", entry->reason[0] ? entry->reason : NULL);
	json_object_object_add(o, "missed", entry->way ? json_object_new_uint64(missed) : NULL);
	return o;
}

static json_object *plan_block(const struct run_result *r)
{
	json_object *o = json_object_new_object(), *hooks = json_object_new_array();
	enum mechanism tier = plan__tier(&r->plan);
	enum hook_id id;

	add_string(o, "tier", tier == MECHANISM_OFF ? NULL : mechanism_name(tier));
	for (id = 0; id < HOOK_COUNT; id++)
		json_object_array_add(hooks,
				      hook_block(&r->plan.entries[id], id, r->measured.missed[id]));
	json_object_object_add(o, "hooks", hooks);
	return o;
}

static bool is_loopback(const char *address)
{
	struct in6_addr v6;
	struct in_addr v4;

	if (inet_pton(AF_INET, address, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
	return inet_pton(AF_INET6, address, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

static void add_messages(json_object *o, const struct load *load)
{
	add_string(o, "variant", load->variant);
	add_string(o, "server_model", "threaded");
	add_string(o, "client_model", NULL);
	json_object_object_add(o, "message_bytes", json_object_new_uint64(load->message_bytes));
	json_object_object_add(o, "fields", json_object_new_int((int)load->fields));
	json_object_object_add(o, "threads", json_object_new_int((int)load->threads));
	json_object_object_add(o, "connections", json_object_new_int((int)load->threads));
	json_object_object_add(o, "inflight", json_object_new_int((int)load->inflight));
	json_object_object_add(o, "rcvlowat", json_object_new_int(load__rcvlowat(load)));
}

/* Many connections have no messages of a size: what belongs to these is null. */
static void add_connections(json_object *o, const struct load *load)
{
	static const char *const none[] = {"variant", "message_bytes", "fields",
					   "threads", "inflight",      "rcvlowat"};
	size_t i;

	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		json_object_object_add(o, none[i], NULL);
	add_string(o, "server_model", load->server_model);
	add_string(o, "client_model", client_model_name(load->client_model));
	json_object_object_add(o, "connections", json_object_new_int((int)load->connections));
	json_object_object_add(o, "backlog", json_object_new_int((int)load->backlog));
}

/* NULL: not known. */
static const char *device_name(const struct load *load, bool loopback)
{
	if (load->socket.device[0])
		return load->socket.device;
	if (loopback)
		return "lo";
	return load->link ? LINK_DEVICE : NULL;
}

static json_object *load_block(const struct run_result *r, const struct load *load,
			       struct unmeasured *u)
{
	bool loopback = !load->peer && is_loopback(load->address);
	json_object *o = json_object_new_object(), *pinning = NULL;

	add_string(o, "workload", workload_name(load->workload));
	if (load->workload == WORKLOAD_PROCINFO)
		add_connections(o, load);
	else
		add_messages(o, load);
	json_object_object_add(o, "warmup_s", json_object_new_double(load->warmup_s));
	json_object_object_add(o, "duration_s",
			       load->messages ? NULL : json_object_new_double(load->duration_s));
	json_object_object_add(o, "messages_per_thread",
			       load->messages ? json_object_new_uint64(load->messages) : NULL);
	json_object_object_add(o, "verify", json_object_new_boolean(load->verify));
	record__add_sending(o, load);
	add_string(o, "address", load->peer ? load->peer : load->address);
	add_string(o, "netns", load->netns);
	add_string(o, "link", loopback ? "loopback" : load->link ? "veth" : NULL);
	add_string(o, "device", device_name(load, loopback));
	if (!device_name(load, loopback))
		unmeasured__add(u, "load.device", "the route to the receiver is not looked up");
	add_string(o, "peer", load->peer);
	json_object_object_add(o, "sender_pid", json_object_new_int(r->sender_pid));
	json_object_object_add(o, "receiver_pid",
			       load->peer ? NULL : json_object_new_int(r->receiver_pid));
	json_object_object_get_ex(r->app, "pinning", &pinning);
	json_object_object_add(o, "pinning", json_object_get(pinning));
	return o;
}

#define NO_LOAD "a program was observed, no load was run"

/* What was observed; null where a load was run. */
static json_object *observed_block(const struct run_result *r, const struct run_setup *setup)
{
	static const char *const by[] = {"process", "comm", "cgroup", "all"};
	json_object *o;
	char text[512];

	if (!setup->target)
		return NULL;
	o = json_object_new_object();
	target__text(setup->target, text, sizeof(text));
	add_string(o, "by", setup->target->command ? "command" : by[setup->target->by]);
	add_string(o, "what", text);
	json_object_object_add(o, "seconds", json_object_new_double(r->observed_s));
	json_object_object_add(o, "in_flight", json_object_new_uint64(r->in_flight));
	json_object_object_add(o, "exit_status",
			       setup->target->command ? json_object_new_int(r->command_status)
						      : NULL);
	return o;
}

static json_object *receiver_block(const struct run_result *r, bool peer, struct unmeasured *u)
{
	const struct plan_entry *entry = &r->plan.entries[HOOK_RECEIVER_COPY];
	json_object *o;

	if (!entry->way || peer) {
		unmeasured__add(u, "receiver",
				peer ? "the receiver is on another machine" : entry->reason);
		return NULL;
	}
	o = json_object_new_object();
	json_object_object_add(o, "copies",
			       json_object_new_uint64(r->measured.totals.receiver_copies));
	json_object_object_add(o, "bytes",
			       json_object_new_uint64(r->measured.totals.receiver_bytes));
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
	json_object_object_add(o, "bpf_ns", json_object_new_uint64(r->measured.bpf_ns));
	json_object_object_add(o, "bpf_runs", json_object_new_uint64(r->measured.bpf_runs));
	json_object_object_add(o, "cpu_share",
			       cpu > 0 ? json_object_new_double((double)r->measured.bpf_ns / cpu)
				       : NULL);
	return o;
}

static void add_warning(void *list, const char *code, const char *text)
{
	json_object *o = json_object_new_object();

	add_string(o, "code", code);
	add_string(o, "text", text);
	json_object_array_add(list, o);
}

/* Where all flags are alike, a neighbour's is as good. */
static void warn_assumed(const struct totals *t, json_object *list)
{
	__u64 copied = t->copied + t->copied_later - t->copied_not;
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
	json_object *rate = NULL, *due = NULL, *unsent = NULL;
	char text[160];

	json_object_object_get_ex(r->app, "rate", &rate);
	json_object_object_get_ex(rate, "due", &due);
	json_object_object_get_ex(rate, "unsent", &unsent);
	if (!json_object_get_uint64(unsent))
		return;
	snprintf(text, sizeof(text),
		 "--rate: of %llu messages that were due, %llu were not begun in time: latencies "
		 "leave them out",
		 (unsigned long long)json_object_get_uint64(due),
		 (unsigned long long)json_object_get_uint64(unsent));
	add_warning(list, "rate_not_kept", text);
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

static json_object *warnings(const struct run_result *r, const struct run_setup *setup,
			     const struct record_context *context)
{
	json_object *list = json_object_new_array();
	char text[256];
	enum hook_id id;

	host__warn(context->host, busy_threads(setup), add_warning, list);
	for (id = 0; id < HOOK_COUNT; id++) {
		if (!r->plan.entries[id].way || !r->plan.entries[id].reason[0])
			continue;
		snprintf(text, sizeof(text), "hook %s: %.200s", hook__get(id)->name,
			 r->plan.entries[id].reason);
		add_warning(list, "hook_misses", text);
	}
	warn_assumed(&r->measured.totals, list);
	warn_unsent(r, list);
	if (r->interrupted)
		add_warning(list, "interrupted", "the run was interrupted before its time was up");
	if (r->error[0])
		add_warning(list, "load_failed", r->error);
	return list;
}

json_object *record__build(const struct run_result *r, const struct run_setup *setup,
			   const struct record_context *context)
{
	json_object *o = json_object_new_object(), *tool = json_object_new_object();
	struct unmeasured u = {json_object_new_array()};

	add_string(o, "schema", "sendpath.run/1");
	add_string(tool, "version", SENDPATH_VERSION);
	json_object_object_add(o, "tool", tool);
	json_object_object_add(o, "started", time_text(&r->started));
	json_object_object_add(o, "run", run_block(setup, context));
	json_object_object_add(o, "host", host__json(context->host));
	json_object_object_add(o, "privilege", json_object_get(context->privilege));
	json_object_object_add(o, "plan", plan_block(r));
	json_object_object_add(o, "load", setup->target ? NULL : load_block(r, &setup->load, &u));
	json_object_object_add(o, "observed", observed_block(r, setup));
	json_object_object_add(o, "serving", record__taken(r->app, "serving"));
	json_object_object_add(o, "tcp", record__tcp(r, setup, &u));
	json_object_object_add(o, "app", json_object_get(r->app));
	if (setup->target)
		unmeasured__add(&u, "load", NO_LOAD);
	if (!r->app)
		unmeasured__add(&u, "app", setup->target ? NO_LOAD : r->error);
	json_object_object_add(o, "calls", record__calls(r, setup, &u));
	json_object_object_add(o, "by", record__by(r, setup));
	json_object_object_add(o, "zerocopy", record__zerocopy(r, setup, &u));
	json_object_object_add(o, "receiver", receiver_block(r, setup->load.peer, &u));
	json_object_object_add(o, "counters", record__counters(r, setup, &u));
	json_object_object_add(o, "lost", record__lost(r, &u));
	json_object_object_add(o, "observer", observer_block(r, setup, &u));
	json_object_object_add(o, "warnings", warnings(r, setup, context));
	json_object_object_add(o, "unmeasured", u.list);
	return o;
}
