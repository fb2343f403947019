/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/hist_stats.h"
#include "common/json.h"
#include "common/units.h"
#include "loadgen/load.h"
#include "loadgen/run/run.h"

/* Returns the payload bits received per second of the window. */
static double throughput(const struct result *r)
{
	return r->elapsed_s > 0 ? (double)r->received * 8 / r->elapsed_s : 0;
}

/* Returns the connections answered per second of the window. */
static double answers_per_s(const struct result *r)
{
	return r->elapsed_s > 0 ? (double)r->visits.answered / r->elapsed_s : 0;
}

/* Nine decimals are exact to the nanosecond; %.17g would show noise. */
static void add_number(struct json_object *o, const char *key, bool known, double value,
		       const char *format)
{
	struct json_object *number = known ? json_object_new_double(value) : NULL;

	if (number)
		json_object_set_serializer(number, json_object_double_to_json_string,
					   (void *)(uintptr_t)format, NULL);
	json__add(o, key, number);
}

static struct json_object *errors_json(const struct result *r)
{
	struct json_object *o = json_object_new_object();

	for (int i = 0; o && i < ERRNO_LIMIT; i++) {
		const char *name = i ? strerrorname_np(i) : NULL;

		if (r->errors[i])
			json__add_count(o, name ? name : "unknown", r->errors[i]);
	}
	return o;
}

static struct json_object *zerocopy_json(const struct result *r)
{
	const struct zerocopy_counts *z = &r->sent.zerocopy;
	struct json_object *o = r->zerocopy ? json_object_new_object() : NULL;

	json__add_count(o, "requests", z->requests);
	json__add_count(o, "completions", z->completions);
	json__add_known(o, "copied", !r->sent.copied_unknown, z->copied);
	json__add_count(o, "enobufs", z->enobufs);
	json__add_count(o, "notifications", z->notifications);
	return o;
}

/* Returns the block of a load with a fixed rate: how many messages were due and not begun. */
static struct json_object *rate_json(const struct result *r)
{
	struct json_object *o = r->load->rate ? json_object_new_object() : NULL;

	json__add_count(o, "due", r->sent.due);
	json__add_count(o, "unsent", r->sent.due - r->sent.messages);
	return o;
}

static void add_cpu(struct json_object *o, bool known, struct cpu_time t)
{
	add_number(o, "user_s", known, (double)t.user_us / 1e6, "%.6f");
	add_number(o, "system_s", known, (double)t.system_us / 1e6, "%.6f");
}

static struct json_object *receiver_json(const struct result *r)
{
	struct json_object *o = r->receiver_known ? json_object_new_object() : NULL;

	add_cpu(o, true, r->receiver);
	return o;
}

static struct json_object *verify_json(const struct result *r)
{
	struct json_object *o = r->load->verify ? json_object_new_object() : NULL;
	struct json_object *first = r->bad ? json_object_new_object() : NULL;

	json__add_count(o, "bytes_checked", r->checked);
	json__add_count(o, "bad_bytes", r->bad);
	json__add_count(first, "connection", r->bad_connection);
	json__add_count(first, "message", r->first_bad.message);
	json__add_count(first, "offset", r->first_bad.offset);
	json__add_count(first, "expected", r->first_bad.expected);
	json__add_count(first, "got", r->first_bad.got);
	json__add(o, "first", first);
	return o;
}

static struct json_object *serving_json(const struct result *r)
{
	const struct visits *v = &r->visits;
	struct json_object *o = !r->ops->sends ? json_object_new_object() : NULL;

	json__add_count(o, "started", v->started);
	json__add_count(o, "answered", v->answered);
	json__add_count(o, "unfinished", v->unfinished);
	json__add_count(o, "unanswered", v->unanswered);
	json__add_count(o, "turned_away", v->turned_away);
	add_number(o, "answers_per_s", true, answers_per_s(r), "%.3f");
	json__add(o, "connect_ns", hist__json(&v->connect, "connect"));
	json__add(o, "accept_ns", hist__json(&v->accept, "connected..accepted"));
	json__add(o, "work_ns", hist__json(&v->work, "accepted..ready"));
	json__add(o, "answer_ns", hist__json(&v->answer, "connect..answer"));
	return o;
}

/* Returns TCP's counters in the window: the protocol's, and the sending sockets' TCP_INFO. */
static struct json_object *tcp_json(const struct result *r)
{
	struct json_object *o = netstat__json(&r->netstat_before, &r->netstat_after);

	json__add(o, "sending", tcp_sockets__json(&r->sockets));
	return o;
}

static struct json_object *pinning_json(const struct result *r)
{
	struct json_object *o = r->cpus.split ? json_object_new_object() : NULL;

	json__add(o, "sender", cpus__json(&r->cpus.sender));
	json__add(o, "receiver", cpus__json(&r->cpus.receiver));
	return o;
}

/* Adds the two limits that decide whether zero-copy sends are refused. */
static void add_privilege(struct json_object *o)
{
	struct rlimit limit;

	json__add_count(o, "uid", getuid());
	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		return;
	json__add_known(o, "memlock_bytes", limit.rlim_cur != RLIM_INFINITY, limit.rlim_cur);
	if (limit.rlim_cur == RLIM_INFINITY)
		json__add_truth(o, "memlock_unlimited", true);
}

/* Adds the counts of sends. If the other process sends, its send calls are not known. */
static void add_sent(struct json_object *o, const struct result *r)
{
	json__add_count(o, "messages", r->messages);
	json__add_count(o, "bytes", r->bytes);
	json__add_known(o, "send_calls", r->ops->sends, r->sent.calls);
	add_number(o, "throughput_bps", true, throughput(r), "%.0f");
	add_number(o, "elapsed_s", true, r->elapsed_s, "%.9f");
	add_cpu(o, r->sender_known, r->sender);
	json__add(o, "message_latency_ns", hist__json(r->latency, r->span));
}

struct json_object *result__json(const struct result *r)
{
	struct json_object *o = json_object_new_object();

	add_sent(o, r);
	json__add(o, "errors", errors_json(r));
	json__add(o, "zerocopy", zerocopy_json(r));
	json__add_count(o, "received_bytes", r->received);
	json__add(o, "receiver", receiver_json(r));
	json__add(o, "verify", verify_json(r));
	json__add(o, "serving", serving_json(r));
	json__add(o, "tcp", tcp_json(r));
	add_privilege(o);
	json__add(o, "rate", rate_json(r));
	json__add(o, "pinning", pinning_json(r));
	json__add_count(o, "port", r->port);
	json__add_text(o, "peer", r->peer);
	if (r->failure.status)
		json__add_text(o, "error", r->failure.text);
	return o;
}

static void print_latency(const struct hist *h, const char *span)
{
	if (!h->count)
		return;
	printf("latency     p50 %s   p99 %s   p99.9 %s   max %s   %s\n",
	       units__time_text((double)hist__percentile(h, 500)),
	       units__time_text((double)hist__percentile(h, 990)),
	       units__time_text((double)hist__percentile(h, 999)), units__time_text((double)h->max),
	       strcmp(span, "request..answer") ? "a message" : "from the request");
}

static void print_errors(const struct sent *s)
{
	for (int i = 0; i < ERRNO_LIMIT; i++)
		if (s->errors[i])
			printf("errors      %s sends: %s\n", units__count_text(s->errors[i]),
			       i ? strerror(i) : "unknown");
}

static void print_rate(const struct result *r)
{
	if (r->load->rate)
		printf("rate        %s messages were due, %s of them were not begun; latency "
		       "counts from when due\n",
		       units__count_text(r->sent.due),
		       units__count_text(r->sent.due - r->sent.messages));
}

static void print_zerocopy(const struct result *r)
{
	const struct zerocopy_counts *z = &r->sent.zerocopy;

	if (!r->zerocopy)
		return;
	printf("zero-copy   %s requested, %s completed", units__count_text(z->requests),
	       units__count_text(z->completions));
	if (r->sent.copied_unknown)
		printf("; this kernel does not report how many of them were copied");
	else
		printf(", %s copied (%.1f %%)", units__count_text(z->copied),
		       z->completions ? 100.0 * (double)z->copied / (double)z->completions : 0.0);
	printf(", %s refused (ENOBUFS)\n", units__count_text(z->enobufs));
}

static void print_cpu(const struct result *r, const char *sender, const char *receiver)
{
	if (!r->sender_known)
		return;
	printf("cpu         %s %.2f s user + %.2f s system", sender,
	       (double)r->sender.user_us / 1e6, (double)r->sender.system_us / 1e6);
	if (r->receiver_known)
		printf(", %s %.2f + %.2f", receiver, (double)r->receiver.user_us / 1e6,
		       (double)r->receiver.system_us / 1e6);
	printf("\n");
}

static void print_times(const char *name, const struct hist *h)
{
	if (h->count)
		printf("%-11s p50 %s   p99 %s   max %s\n", name,
		       units__time_text((double)hist__percentile(h, 500)),
		       units__time_text((double)hist__percentile(h, 990)),
		       units__time_text((double)h->max));
}

void result__print_serving(const struct result *r)
{
	const struct visits *v = &r->visits;

	printf("procinfo: %s server, %u connections at once, %s client, %.2f s\n",
	       r->load->server_model, r->load->connections,
	       client_model_name(r->load->client_model), r->elapsed_s);
	printf("answered    %s connections, %.0f a second", units__count_text(v->answered),
	       answers_per_s(r));
	if (v->unfinished)
		printf(", %s given up at the end", units__count_text(v->unfinished));
	if (v->unanswered)
		printf(", %s never answered", units__count_text(v->unanswered));
	if (v->turned_away)
		printf(", %s of others turned away", units__count_text(v->turned_away));
	printf("\n");
	print_times("connect", &v->connect);
	print_times("accepted", &v->accept);
	print_times("work", &v->work);
	print_times("answer", &v->answer);
	print_cpu(r, "server", "client");
}

void result__print_stream(const struct result *r)
{
	const struct load *l = r->load;

	printf("%s: %s in %u field%s, %u thread%s, %.2f s\n", l->variant,
	       units__size_text(l->message_bytes), l->fields, l->fields == 1 ? "" : "s", l->threads,
	       l->threads == 1 ? "" : "s", r->elapsed_s);
	printf("throughput  %.2f Gbit/s\n", throughput(r) / 1e9);
	print_latency(r->latency, r->span);
	printf("sent        %s messages, %s send calls, %s bytes (%s received)\n",
	       units__count_text(r->sent.messages), units__count_text(r->sent.calls),
	       units__count_text(r->sent.bytes), units__count_text(r->received));
	print_rate(r);
	print_errors(&r->sent);
	print_zerocopy(r);
	print_cpu(r, "sender", "receiver");
	if (l->verify)
		printf("verified    %s bytes, %s of them wrong%s\n", units__count_text(r->checked),
		       units__count_text(r->bad),
		       l->reuse_early && !r->bad ? ": reused early, but all were copied by then"
						 : "");
}
