/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <json-c/json.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "loadgen/hist_stats.h"
#include "loadgen/options.h"
#include "loadgen/result.h"

double result__throughput(const struct result *r)
{
	return r->elapsed_s > 0 ? (double)r->received * 8 / r->elapsed_s : 0;
}

static void add_count(struct json_object *o, const char *key, uint64_t value)
{
	json_object_object_add(o, key, json_object_new_uint64(value));
}

/* Nine digits after the point are exact to the nanosecond; %.17g would show noise. */
static void add_number(struct json_object *o, const char *key, double value, const char *format)
{
	struct json_object *number = json_object_new_double(value);

	if (number)
		json_object_set_serializer(number, json_object_double_to_json_string,
					   (void *)(uintptr_t)format, NULL);
	json_object_object_add(o, key, number);
}

static struct json_object *errors_json(const struct result *r)
{
	struct json_object *o = json_object_new_object();

	for (int i = 0; o && i < ERRNO_LIMIT; i++) {
		const char *name = i ? strerrorname_np(i) : NULL;

		if (r->sent.errors[i])
			add_count(o, name ? name : "unknown", r->sent.errors[i]);
	}
	return o;
}

static struct json_object *zerocopy_json(const struct result *r)
{
	const struct zerocopy_counts *z = &r->sent.zerocopy;
	struct json_object *o;

	if (!r->zerocopy)
		return NULL;
	o = json_object_new_object();
	add_count(o, "requests", z->requests);
	add_count(o, "completions", z->completions);
	json_object_object_add(o, "copied",
			       z->copied_unknown ? NULL : json_object_new_uint64(z->copied));
	add_count(o, "enobufs", z->enobufs);
	add_count(o, "notifications", z->notifications);
	return o;
}

/* Of an open loop: how many messages should have been begun, and were not. */
static struct json_object *rate_json(const struct result *r)
{
	struct json_object *o;

	if (!r->load->rate)
		return NULL;
	o = json_object_new_object();
	add_count(o, "due", r->sent.due);
	add_count(o, "unsent", r->sent.due - r->sent.messages);
	return o;
}

static struct json_object *receiver_json(const struct result *r)
{
	struct json_object *o;

	if (!r->receiver_known)
		return NULL;
	o = json_object_new_object();
	add_number(o, "user_s", r->receiver.user_s, "%.6f");
	add_number(o, "system_s", r->receiver.system_s, "%.6f");
	return o;
}

static struct json_object *verify_json(const struct result *r)
{
	struct json_object *o, *first = NULL;

	if (!r->load->verify)
		return NULL;
	o = json_object_new_object();
	add_count(o, "bytes_checked", r->checked);
	add_count(o, "bad_bytes", r->bad);
	if (r->bad) {
		first = json_object_new_object();
		add_count(first, "connection", r->bad_connection);
		add_count(first, "message", r->first_bad.message);
		add_count(first, "offset", r->first_bad.offset);
		add_count(first, "expected", r->first_bad.expected);
		add_count(first, "got", r->first_bad.got);
	}
	json_object_object_add(o, "first", first);
	return o;
}

static struct json_object *pinning_json(const struct result *r)
{
	struct json_object *o;

	if (!r->cpus.split)
		return NULL;
	o = json_object_new_object();
	json_object_object_add(o, "sender", cpus__json(&r->cpus.sender));
	json_object_object_add(o, "receiver", cpus__json(&r->cpus.receiver));
	return o;
}

/* Whether zero-copy sends are refused depends on both. */
static void add_privilege(struct json_object *o)
{
	struct rlimit limit;

	add_count(o, "uid", getuid());
	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		return;
	if (limit.rlim_cur == RLIM_INFINITY) {
		json_object_object_add(o, "memlock_bytes", NULL);
		json_object_object_add(o, "memlock_unlimited", json_object_new_boolean(true));
	} else {
		add_count(o, "memlock_bytes", limit.rlim_cur);
	}
}

struct json_object *result__json(const struct result *r)
{
	struct json_object *o = json_object_new_object();

	if (!o)
		return NULL;
	add_count(o, "messages", r->sent.messages);
	add_count(o, "bytes", r->sent.bytes);
	add_count(o, "send_calls", r->sent.calls);
	add_number(o, "throughput_bps", result__throughput(r), "%.0f");
	add_number(o, "elapsed_s", r->elapsed_s, "%.9f");
	add_number(o, "user_s", r->sender.user_s, "%.6f");
	add_number(o, "system_s", r->sender.system_s, "%.6f");
	json_object_object_add(
		o, "message_latency_ns",
		hist__json(&r->sent.latency, r->load->rate ? "message_due" : "message"));
	json_object_object_add(o, "errors", errors_json(r));
	json_object_object_add(o, "zerocopy", zerocopy_json(r));
	add_count(o, "received_bytes", r->received);
	json_object_object_add(o, "receiver", receiver_json(r));
	json_object_object_add(o, "verify", verify_json(r));
	add_privilege(o);
	json_object_object_add(o, "rate", rate_json(r));
	json_object_object_add(o, "pinning", pinning_json(r));
	add_count(o, "port", r->port);
	if (r->failure.status)
		json_object_object_add(o, "error", json_object_new_string(r->failure.text));
	return o;
}
