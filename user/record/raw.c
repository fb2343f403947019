// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/record/raw.h"

#include "user/system/privilege.h"

#include "common/json.h"
#include "loadgen/options/rows.h"
#include "loadgen/system/link.h"
#include "loadgen/system/listener.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMMAND_MAX 4096

/* Appends the options that name a configuration, except those that the load does not use. */
static void append_options(char *name, size_t size, const struct load_row *row,
			   const struct load *load)
{
	char text[ROW_TEXT_MAX];

	for (; row->name; row++) {
		const char *value = row->cell ? row__text(row, load, text) : NULL;

		if (row->type == ROW_PARTS)
			append_options(name, size, socket_rows, load);
		else if (value)
			text__append(name, size, row->cell, value);
	}
}

void raw__cell_name(const struct load *load, char *name, size_t size)
{
	snprintf(name, size, "%s", load->workload == WORKLOAD_REQUEST ? "request," : "");
	if (load->workload == WORKLOAD_PROCINFO)
		snprintf(name, size, "procinfo,%s,%uc,%s,%ub", load->server_model,
			 load->connections, client_model_name(load->client_model), load->backlog);
	else
		append_options(name, size, load_rows, load);
	if (load->link)
		text__append(name, size, ",veth");
}

static bool is_loopback(const char *address)
{
	struct listener l;

	return !listener__resolve(&l, address, NULL) && listener__is_loopback(&l);
}

static json_object *value_of(const struct load_row *row, const struct load *load);

/* Adds the rows. null: the load does not use the option, or the kernel chooses the value. */
static void add_rows(json_object *o, const struct load_row *row, const struct load *load)
{
	for (; row->name; row++)
		if (row->key)
			json__add(o, row->key, value_of(row, load));
}

static json_object *value_of(const struct load_row *row, const struct load *load)
{
	char text[ROW_TEXT_MAX];
	const char *written = row__text(row, load, text);
	json_object *parts;

	switch (row->type) {
	case ROW_FLAG:
		return json_object_new_boolean(*(const bool *)row__value(row, load));
	case ROW_PARTS:
		parts = json_object_new_object();
		add_rows(parts, socket_rows, load);
		return parts;
	case ROW_SECONDS:
		return written ? json_object_new_double(*(const double *)row__value(row, load))
			       : NULL;
	case ROW_UNSIGNED:
	case ROW_COUNT:
	case ROW_BYTES:
		return written ? json_object_new_uint64(strtoull(written, NULL, 10)) : NULL;
	default:
		return written && written[0] ? json_object_new_string(written) : NULL;
	}
}

/* Writes a stream's values for the keys that belong to server loads. */
static void add_stream(json_object *o, const struct load *load)
{
	json__add_string(o, "server_model", "threaded");
	json__add(o, "connections", json_object_new_int((int)load->threads));
	json_object_object_del(o, "backlog");
}

/* Returns the device by which the load sends; NULL: unknown. */
static const char *device_name(const struct load *load, bool loopback)
{
	if (load->socket.device[0])
		return load->socket.device;
	if (loopback)
		return "lo";
	return load->link ? LINK_DEVICE : NULL;
}

static json_object *load_json(const struct load *load)
{
	bool loopback = !load->peer && is_loopback(load->address);
	json_object *o = json_object_new_object();

	add_rows(o, load_rows, load);
	if (load->workload != WORKLOAD_PROCINFO)
		add_stream(o, load);
	json__add_string(o, "address", load->peer ? load->peer : load->address);
	json__add_string(o, "link", loopback ? "loopback" : load->link ? "veth" : NULL);
	json__add_string(o, "device", device_name(load, loopback));
	json__add_string(o, "peer", load->peer);
	return o;
}

json_object *raw__command(void)
{
	char words[COMMAND_MAX];
	FILE *file = fopen("/proc/self/cmdline", "re");
	size_t size = file ? fread(words, 1, sizeof(words), file) : 0;

	if (file)
		fclose(file);
	return size && size < sizeof(words) ? json_object_new_string_len(words, (int)size) : NULL;
}

static json_object *run_json(const struct timespec *started, const struct measurement *setup,
			     const struct record_context *context)
{
	const struct run_request *q = context->request;
	json_object *o = json_object_new_object();
	char cell[256] = "observation", id[64];

	if (!setup->tracing.target)
		raw__cell_name(&setup->load, cell, sizeof(cell));
	snprintf(id, sizeof(id), "%lld.%06ld-%d-%zu", (long long)started->tv_sec,
		 started->tv_nsec / 1000, (int)getpid(), context->run);
	json__add_string(o, "id", id);
	json__add(o, "command", raw__command());
	json__add_string(o, "cell", cell);
	json__add_count(o, "repeat", q->repeat);
	json__add_known(o, "seed", q->ordered, q->seed);
	return o;
}

static json_object *dimensions(unsigned int by)
{
	json_object *list = json_object_new_array();

	for (enum group_by one = BY_PROCESS; one <= BY_CGROUP; one <<= 1)
		if (by & one)
			json_object_array_add(list, json_object_new_string(group_by_name(one)));
	return list;
}

static json_object *target(const struct target *t)
{
	static const char *const by[] = {"process", "comm", "cgroup", "all"};
	json_object *o = json_object_new_object();
	char text[512];

	target__text(t, text, sizeof(text));
	json__add_string(o, "by", t->command ? "command" : by[t->by]);
	json__add_string(o, "what", text);
	return o;
}

/* Returns the part of the setup that readers need to interpret the counts. */
static json_object *setup_json(const struct measurement *setup)
{
	json_object *o = json_object_new_object();

	json__add(o, "target", setup->tracing.target ? target(setup->tracing.target) : NULL);
	json__add_count(o, "sample", setup->tracing.sample ? setup->tracing.sample : 1);
	json__add_truth(o, "stages", setup->tracing.stages);
	json__add_truth(o, "cost", setup->tracing.cost);
	json__add(o, "by", dimensions(setup->tracing.by));
	json__add_truth(o, "cgroup2", groups__has_cgroup2());
	json__add(o, "call_counters", counter_events__json(setup->tracing.call_counters));
	return o;
}

/* Adds the properties of a hook's option. */
static void add_traits(json_object *o, const struct hook_option *option)
{
	json__add_string(o, "span", option->span);
	json__add_string(o, "completion_span", option->completion_span);
	json__add_string(o, "unseen", option->unseen);
	json__add_string(o, "misses", option->misses);
	json__add_truth(o, "by_queue", option->by_queue);
	json__add_truth(o, "by_path", option->by_path);
	json__add_truth(o, "by_report", option->by_report);
	json__add_truth(o, "counts_at_end", option->counts_at_end);
}

/* Returns all names that kernels have for the function of a hook. */
static json_object *functions(const struct hook *hook)
{
	json_object *list = json_object_new_array();
	const char *const *name;

	for (name = hook->options[0].functions; *name; name++)
		json_object_array_add(list, json_object_new_string(*name));
	return list;
}

static json_object *hook(const struct run_result *r, enum hook_id id)
{
	const struct plan_entry *entry = &r->plan.entries[id];
	bool known = entry->option && !r->counts.programs.missed_unknown[id];
	json_object *o = json_object_new_object();

	json__add_string(o, "name", hook__get(id)->name);
	json__add_string(o, "mechanism",
			 entry->option ? mechanism_name(entry->option->mechanism) : NULL);
	json__add_string(o, "symbol", entry->option ? entry->symbol : NULL);
	json__add_string(o, "status",
			 entry->option			  ? "attached"
			 : entry->status == HOOK_DISABLED ? "disabled"
							  : "unavailable");
	json__add_text(o, "reason", entry->reason);
	json__add_known(o, "missed", known, r->counts.programs.missed[id]);
	json__add_truth(o, "missed_unknown", r->counts.programs.missed_unknown[id]);
	json__add_truth(o, "zerocopy_only", hook__get(id)->zerocopy_only);
	if (r->profile)
		json__add(o, "functions", functions(hook__get(id)));
	if (entry->option)
		add_traits(o, entry->option);
	return o;
}

static json_object *plan(const struct run_result *r)
{
	json_object *list = json_object_new_array();

	for (enum hook_id id = 0; id < HOOK_COUNT; id++)
		json_object_array_add(list, hook(r, id));
	return list;
}

/* Returns names, because addresses would reveal where the kernel is. NULL: not readable. */
static json_object *names_of(const __u64 *stack, const struct features *features)
{
	struct kernel_address frames[STACK_FRAMES] = {};
	json_object *list;
	size_t i, depth, count;

	for (depth = 0; depth < STACK_FRAMES && stack[depth]; depth++)
		frames[depth].address = stack[depth];
	count = depth;
	if (features__symbolize(features, frames, &count))
		return NULL;
	list = json_object_new_array();
	for (i = 0; i < depth; i++) {
		const char *name = kernel_address__find(frames, count, stack[i])->name;

		json_object_array_add(list, json_object_new_string(name[0] ? name : "?"));
	}
	return list;
}

static json_object *stacks(const struct run_result *r, const struct measurement *setup)
{
	json_object *all = json_object_new_object(), *names;
	const struct cause_info *info;
	char key[16];

	for (size_t i = 0; i < r->counts.cause_count; i++) {
		info = &r->counts.causes[i].info;
		if (info->key.cause != CAUSE_UNCLASSIFIED || !info->stack[0])
			continue;
		names = names_of(info->stack, setup->tracing.features);
		snprintf(key, sizeof(key), "%u", info->key.stack);
		if (names)
			json__add(all, key, names);
	}
	return all;
}

static json_object *counters(const struct run_result *r, const struct measurement *setup)
{
	json_object *list = json_object_new_array();

	counters__add_json(r->sender, setup->tracing.target ? "command" : "sender", list);
	counters__add_json(r->receiver, "receiver", list);
	return list;
}

static json_object *noise(const struct run_result *r)
{
	json_object *o = json_object_new_object();

	json__add(o, "opened", json_object_get(r->opened));
	json__add(o, "closed", json_object_get(r->closed));
	json__add(o, "hz", json_object_new_int((int)sysconf(_SC_CLK_TCK)));
	return o;
}

static json_object *head(const struct timespec *started, const struct measurement *setup,
			 const struct record_context *context)
{
	json_object *o = json_object_new_object();

	json__add_string(o, "schema", RAW_SCHEMA);
	json__add_string(o, "version", SENDPATH_VERSION);
	json__add_count(o, "started_s", (uint64_t)started->tv_sec);
	json__add_count(o, "started_ns", (uint64_t)started->tv_nsec);
	json__add(o, "run", run_json(started, setup, context));
	json__add(o, "host", host__json(context->host));
	return o;
}

static json_object *whole(const struct run_result *r, const struct measurement *setup,
			  const struct record_context *context)
{
	json_object *o = head(&r->started, setup, context);

	json__add(o, "setup", setup_json(setup));
	json__add(o, "privilege", privilege__json());
	json__add(o, "plan", plan(r));
	json__add_count(o, "missed_begins", r->counts.programs.missed_begins);
	json__add_count(o, "missed_ends", r->counts.programs.missed_ends);
	json__add_count(o, "missed_coalesced", r->counts.programs.missed_coalesced);
	json__add_count(o, "bpf_ns", r->counts.programs.ns);
	json__add_count(o, "bpf_runs", r->counts.programs.runs);
	json__add(o, "load", setup->tracing.target ? NULL : load_json(&setup->load));
	json__add(o, "sender_pid", json_object_new_int(r->sender_pid));
	json__add(o, "receiver_pid", json_object_new_int(r->receiver_pid));
	json__add(o, "app", json_object_get(r->app));
	json__add_truth(o, "window", r->window);
	json__add(o, "observed_s", json_object_new_double(r->observed_s));
	json__add_count(o, "in_flight", r->in_flight);
	json__add(o, "command_status",
		  r->timed_out ? NULL : json_object_new_int(r->command_status));
	json__add_truth(o, "interrupted", r->interrupted);
	json__add_string(o, "error", r->failure.text);
	json__add(o, "exit_status", json_object_new_int(r->failure.status));
	json__add(o, "noise", noise(r));
	json__add(o, "counters", counters(r, setup));
	json__add(o, "memory", memory__json(&r->memory));
	json__add(o, "stacks", stacks(r, setup));
	json__add(o, "profile", json_object_get(r->profile));
	return o;
}

/* Returns the line of o, with timeline and maps, which are JSON, as its last members. Frees o. */
static char *line(json_object *o, const char *timeline, const char *maps)
{
	const char *text = json_object_to_json_string_ext(
		o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	size_t length = text ? strlen(text) : 0;
	char *all = NULL;

	if (length && asprintf(&all, "%.*s%s%s,\"maps\":%s}\n", (int)length - 1, text,
			       timeline ? ",\"timeline\":" : "", timeline ? timeline : "",
			       maps ? maps : "null") < 0)
		all = NULL;
	json_object_put(o);
	return all;
}

char *raw__line(const struct run_result *r, const struct measurement *setup,
		const struct record_context *context)
{
	return line(whole(r, setup, context), r->timeline, r->maps);
}

char *raw__failure(const struct timespec *started, const struct measurement *setup,
		   const struct record_context *context, const char *outcome, const char *error)
{
	json_object *o = head(started, setup, context);

	json__add(o, "load", load_json(&setup->load));
	json__add_string(o, "outcome", outcome);
	json__add_string(o, "error", error);
	return line(o, NULL, NULL);
}
