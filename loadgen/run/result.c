/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <json-c/json.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "loadgen/load.h"
#include "loadgen/run/result_parts.h"
#include "loadgen/system/hist_stats.h"

static bool is_procinfo(const struct result *r)
{
	return r->load->workload == WORKLOAD_PROCINFO;
}

/* Of failed sends, or of connections that came to nothing. */
static struct json_object *errors_json(const struct result *r)
{
	const uint64_t *errors = is_procinfo(r) ? r->visits.errors : r->sent.errors;
	struct json_object *o = json_object_new_object();

	for (int i = 0; o && i < ERRNO_LIMIT; i++) {
		const char *name = i ? strerrorname_np(i) : NULL;

		if (errors[i])
			result__add_count(o, name ? name : "unknown", errors[i]);
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
	result__add_count(o, "requests", z->requests);
	result__add_count(o, "completions", z->completions);
	json_object_object_add(o, "copied",
			       z->copied_unknown ? NULL : json_object_new_uint64(z->copied));
	result__add_count(o, "enobufs", z->enobufs);
	result__add_count(o, "notifications", z->notifications);
	return o;
}

/* Of an open loop: how many messages should have been begun, and were not. */
static struct json_object *rate_json(const struct result *r)
{
	struct json_object *o;

	if (!r->load->rate)
		return NULL;
	o = json_object_new_object();
	result__add_count(o, "due", r->sent.due);
	result__add_count(o, "unsent", r->sent.due - r->sent.messages);
	return o;
}

static struct json_object *receiver_json(const struct result *r)
{
	struct json_object *o;

	if (!r->receiver_known)
		return NULL;
	o = json_object_new_object();
	result__add_number(o, "user_s", r->receiver.user_s, "%.6f");
	result__add_number(o, "system_s", r->receiver.system_s, "%.6f");
	return o;
}

static struct json_object *verify_json(const struct result *r)
{
	struct json_object *o, *first = NULL;

	if (!r->load->verify)
		return NULL;
	o = json_object_new_object();
	result__add_count(o, "bytes_checked", r->checked);
	result__add_count(o, "bad_bytes", r->bad);
	if (r->bad) {
		first = json_object_new_object();
		result__add_count(first, "connection", r->bad_connection);
		result__add_count(first, "message", r->first_bad.message);
		result__add_count(first, "offset", r->first_bad.offset);
		result__add_count(first, "expected", r->first_bad.expected);
		result__add_count(first, "got", r->first_bad.got);
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

	result__add_count(o, "uid", getuid());
	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		return;
	if (limit.rlim_cur == RLIM_INFINITY) {
		json_object_object_add(o, "memlock_bytes", NULL);
		json_object_object_add(o, "memlock_unlimited", json_object_new_boolean(true));
	} else {
		result__add_count(o, "memlock_bytes", limit.rlim_cur);
	}
}

static void add_cpu(struct json_object *o, const struct result *r)
{
	if (r->sender_known) {
		result__add_number(o, "user_s", r->sender.user_s, "%.6f");
		result__add_number(o, "system_s", r->sender.system_s, "%.6f");
	} else {
		json_object_object_add(o, "user_s", NULL);
		json_object_object_add(o, "system_s", NULL);
	}
}

/* Of many connections a message is an answer. The server's send calls are the kernel's to count. */
static void add_sent(struct json_object *o, const struct result *r)
{
	bool procinfo = is_procinfo(r);
	const struct hist *latency;
	const char *span;

	result__add_count(o, "messages", procinfo ? r->visits.answered : r->sent.messages);
	result__add_count(o, "bytes", procinfo ? r->visits.bytes : r->sent.bytes);
	if (procinfo)
		json_object_object_add(o, "send_calls", NULL);
	else
		result__add_count(o, "send_calls", r->sent.calls);
	result__add_number(o, "throughput_bps", result__throughput(r), "%.0f");
	result__add_number(o, "elapsed_s", r->elapsed_s, "%.9f");
	add_cpu(o, r);
	latency = result__latency(r, &span);
	json_object_object_add(o, "message_latency_ns", hist__json(latency, span));
}

struct json_object *result__json(const struct result *r)
{
	struct json_object *o = json_object_new_object();

	if (!o)
		return NULL;
	add_sent(o, r);
	json_object_object_add(o, "errors", errors_json(r));
	json_object_object_add(o, "zerocopy", zerocopy_json(r));
	result__add_count(o, "received_bytes", r->received);
	json_object_object_add(o, "receiver", receiver_json(r));
	json_object_object_add(o, "verify", verify_json(r));
	json_object_object_add(o, "serving", result__serving_json(r));
	json_object_object_add(o, "tcp", result__tcp_json(r));
	add_privilege(o);
	json_object_object_add(o, "rate", rate_json(r));
	json_object_object_add(o, "pinning", pinning_json(r));
	result__add_count(o, "port", r->port);
	json_object_object_add(o, "peer", r->peer[0] ? json_object_new_string(r->peer) : NULL);
	if (r->failure.status)
		json_object_object_add(o, "error", json_object_new_string(r->failure.text));
	return o;
}
