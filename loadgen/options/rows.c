/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The options of a load, one row each, and the functions that some rows need. All are pure. A new
 * row needs its argument in tests/unit/test_load_arguments.c, and a paragraph in
 * docs/man/sendpath-loadgen.1; the arguments, the record and names of configurations follow from
 * it.
 */
#include <stdio.h>
#include <string.h>

#include "common/units.h"
#include "loadgen/options/help.h"
#include "loadgen/options/rows.h"
#include "loadgen/send/send_ops.h"
#include "loadgen/serving/server.h"
#include "loadgen/system/listener.h"

static bool ends_by_time(const struct load *l)
{
	return !l->messages;
}

static bool has_working_set(const struct load *l)
{
	return l->working_set;
}

static bool is_random(const struct load *l)
{
	return l->pick == PICK_RANDOM;
}

static bool has_port(const struct load *l)
{
	return !l->peer;
}

static bool has_address(const struct load *l)
{
	return !l->peer && !l->link;
}

static const char *variant_name(size_t i)
{
	return i < send_variant_count ? send_variants[i]->name : NULL;
}

static const char *model_name(size_t i)
{
	return i < serve_model_count ? serve_models[i].name : NULL;
}

/* Sets *to to a known name. all_variants() and all_models() handle "all" and "every" before. */
static int set_name_of(const char **to, const char *(*name)(size_t i), const char *words,
		       const char *value, struct refusal *r)
{
	char names[200] = "";
	size_t used = 0;

	for (size_t i = 0; name(i); i++) {
		*to = name(i);
		if (!strcmp(*to, value))
			return 0;
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s, ", *to);
	}
	return refuse_value(r, "unknown; there are %sor %s", names, words);
}

static int set_variant(struct load *l, const char *value, struct refusal *r)
{
	return set_name_of(&l->variant, variant_name, "all, or every", value, r);
}

static int set_model(struct load *l, const char *value, struct refusal *r)
{
	return set_name_of(&l->server_model, model_name, "all", value, r);
}

static bool all_variants(struct load_options *o, const char *value)
{
	o->every = !strcmp(value, "every");
	if (strcmp(value, "all") && !o->every)
		return false;
	o->variants.count = 0;
	/* "every" excludes null, which sends nothing. */
	for (size_t i = 0; i < send_variant_count && i < LIST_MAX; i++)
		if (send_variants[i]->flags & SEND_COURSE ||
		    (o->every && !(send_variants[i]->flags & SEND_NOTHING)))
			o->variants.of[o->variants.count++] = send_variants[i]->name;
	return true;
}

static bool all_models(struct load_options *o, const char *value)
{
	o->every = !strcmp(value, "all");
	if (!o->every)
		return false;
	for (o->models.count = 0; o->models.count < serve_model_count; o->models.count++)
		o->models.of[o->models.count] = serve_models[o->models.count].name;
	return true;
}

static int set_peer(struct load *l, const char *value, struct refusal *r)
{
	char host[256], port[8];

	if (units__endpoint(value, host, sizeof(host), port) || !strcmp(port, "0"))
		return refuse_value(
			r, "give HOST:PORT as loadgen serve prints it, or [ADDRESS]:PORT for IPv6");
	l->peer = value;
	return 0;
}

static int set_address(struct load *l, const char *value, struct refusal *r)
{
	struct listener any;

	if (listener__resolve(&any, value, NULL))
		return refuse_value(r, "give an IPv4 or IPv6 address, such as 127.0.0.1 or ::1");
	l->address = value;
	return 0;
}

static int set_netns(struct load *l, const char *value, struct refusal *r)
{
	if (!value[0] || value[0] == '.' || strchr(value, '/') || strlen(value) > 200)
		return refuse_value(r, "give a name that ip netns list shows");
	l->netns = value;
	return 0;
}

/* Reads one element: WORD, or WORD=VALUE. */
static int set_part(void *load, const char *item, struct refusal *r)
{
	size_t length = strcspn(item, "=");
	bool sign = item[length];

	for (const struct load_row *row = socket_rows; row->name; row++)
		if (strlen(row->name) == length && !strncmp(item, row->name, length) &&
		    sign == !!row->arg)
			return row__set(row, load, item + length + sign, r);
	return refuse_value(r, "give nodelay, more, sndbuf=B, rcvbuf=B, congestion=NAME or "
			       "device=NAME, with commas between");
}

static int set_socket(struct load *l, const char *value, struct refusal *r)
{
	l->socket = (struct socket_options){0};
	return row__each(value, r, set_part, l);
}

static const char *const workloads[] = {"stream", "request", "procinfo", NULL};
static const char *const clients[] = {"threaded", "epoll", NULL};
static const char *const picks[] = {"order", "random", NULL};
static const char *const pins[] = {"auto", "none", NULL};
static const char *const links[] = {"loopback", "veth", NULL};

const char *client_model_name(enum client_model model)
{
	return clients[model];
}

#define AT(member)    offsetof(struct load, member)
#define LISTED(lists) .list = offsetof(struct load_options, lists)

/* clang-format off */
const struct load_row load_rows[] = {
	{"workload", "NAME", ROW_WORD, AT(workload), 0, 0, HELP_MESSAGES, OF_ALL,
	 "stream (default): one end sends messages; request: it answers each request with one; "
	 "procinfo: it answers many short connections",
	 "workload", .usual = "stream", .words = workloads},
	{"variant", "LIST", ROW_TEXT, AT(variant), 0, 0, HELP_LOAD, OF_MESSAGES,
	 "send variants: twocopy, onecopy, zerocopy (all), write, writev, sendfile, splice, uring, "
	 "uring_zc (every, without those this kernel lacks), null (default zerocopy)",
	 "variant", "%s", "zerocopy", LISTED(variants), .set = set_variant, .all = all_variants},
	{"size", "LIST", ROW_BYTES, AT(message_bytes), MESSAGE_MIN, MESSAGE_MAX, HELP_LOAD,
	 OF_MESSAGES, "bytes of a message, 64 to 16M (default 16K)",
	 "message_bytes", ",%sB", "16K", "256, 4K or 1M", LISTED(sizes)},
	{"fields", "N", ROW_UNSIGNED, AT(fields), 1, FIELDS_MAX, HELP_MESSAGES, OF_MESSAGES,
	 "separately allocated fields of a message (default 8)", "fields", ",%sf", .usual = "8"},
	{"field-size", "B", ROW_BYTES, AT(field_size), 1, MESSAGE_MAX, HELP_MESSAGES, OF_MESSAGES,
	 "bytes of a field: size = fields x field-size", .such = "256, 4K or 1M"},
	{"threads", "LIST", ROW_UNSIGNED, AT(threads), 1, THREADS_MAX, HELP_LOAD, OF_MESSAGES,
	 "sending threads, one connection each (default 1)", "threads", ",%st", "1",
	 LISTED(threads)},
	{"inflight", "N", ROW_UNSIGNED, AT(inflight), 1, INFLIGHT_MAX, HELP_MESSAGES, OF_MESSAGES,
	 "zero-copy messages in flight (default: 1 MiB worth)", .key = "inflight"},
	{"rcvlowat", "B", ROW_BYTES, AT(rcvlowat), 1, MESSAGE_MAX, HELP_ENDS, OF_MESSAGES,
	 "bytes that wake the receiver (default 1)", "rcvlowat", NULL, "1",
	 .such = "256, 4K or 1M"},
	{"server-model", "LIST", ROW_TEXT, AT(server_model), 0, 0, HELP_SERVING, OF_CONNECTIONS,
	 "iterative, threaded, select, epoll or all (default iterative)", "server_model",
	 .usual = "iterative", LISTED(models), .set = set_model, .all = all_models},
	{"client-model", "NAME", ROW_WORD, AT(client_model), 0, 0, HELP_SERVING, OF_CONNECTIONS,
	 "threaded or epoll (default threaded; above 1024 connections epoll)", "client_model",
	 .words = clients},
	{"connections", "LIST", ROW_UNSIGNED, AT(connections), 1, CONNECTIONS_MAX, HELP_SERVING,
	 OF_CONNECTIONS, "connections open at once, 1 to 10000 (default 10,50,100)", "connections",
	 .usual = "10,50,100", LISTED(connections)},
	/* The default is SOMAXCONN. The kernel limits the queue to net.core.somaxconn. */
	{"backlog", "N", ROW_UNSIGNED, AT(backlog), 1, 65535, HELP_SERVING, OF_CONNECTIONS,
	 "length of the listen queue (default 4096)", "backlog", .usual = "4096"},
	{"warmup", "T", ROW_SECONDS, AT(warmup_s), 0, 0, HELP_MESSAGES, OF_ALL,
	 "send uncounted before the window (default 0.2)", "warmup_s", .usual = "0.2"},
	{"duration", "T", ROW_SECONDS, AT(duration_s), 1, 0, HELP_LOAD, OF_ALL,
	 "measure for 10s, 0.5, 200ms (default 5)", "duration_s", .usual = "5",
	 .means = ends_by_time},
	{"messages", "N", ROW_COUNT, AT(messages), 1, 1ULL << 60, HELP_MESSAGES, OF_ALL,
	 "send N messages per thread, instead of --duration", .key = "messages_per_thread"},
	{"verify", NULL, ROW_FLAG, AT(verify), 0, 0, HELP_MESSAGES, OF_MESSAGES,
	 "let the receiver check every byte", .key = "verify"},
	{"working-set", "B", ROW_BYTES, AT(working_set), MESSAGE_MIN, WORKING_SET_MAX,
	 HELP_MESSAGES, OF_MESSAGES, "draw fields from a data set of this size",
	 "working_set_bytes", ",set%s", .such = "4K or 1M"},
	{"pick", "order|random", ROW_WORD, AT(pick), 0, 0, HELP_MESSAGES, OF_MESSAGES,
	 "draw fields in order or at random (default order)", "pick", .words = picks,
	 .means = has_working_set},
	{"seed", "N", ROW_COUNT, AT(seed), 0, INT64_MAX, HELP_MESSAGES, OF_MESSAGES,
	 "seed of --pick random (default 1)", "seed", ",random%s", "1", .means = is_random},
	{"align", "B", ROW_BYTES, AT(align), 16, ALIGN_MAX, HELP_MESSAGES, OF_MESSAGES,
	 "begin each field at a multiple of B", "align_bytes", ",align%s", .such = "4K or 1M",
	 .power_of_two = true},
	{"huge-pages", NULL, ROW_FLAG, AT(huge_pages), 0, 0, HELP_MESSAGES, OF_MESSAGES,
	 "put the fields in transparent huge pages", "huge_pages", .cell = ",huge"},
	{"registered", NULL, ROW_FLAG, AT(registered), 0, 0, HELP_MESSAGES, OF_MESSAGES,
	 "uring_zc: send from registered buffers", "registered", .cell = ",registered"},
	{"file-dir", "DIR", ROW_TEXT, AT(file_dir), 0, 0, HELP_MESSAGES, OF_MESSAGES,
	 "sendfile: send from a file in DIR, not in memory", "file_dir", .cell = ",file"},
	{"reuse-early", NULL, ROW_FLAG, AT(reuse_early), 0, 0, HELP_MESSAGES, OF_MESSAGES,
	 "a deliberate bug: write to memory still in use", "reuse_early", .cell = ",early"},
	{"rate", "N", ROW_COUNT, AT(rate), 1, RATE_MAX, HELP_MESSAGES, OF_MESSAGES,
	 "begin N messages per second and thread; latency counts from when each was due", "rate_per_thread",
	 .cell = ",%sps"},
	{"socket", "LIST", ROW_PARTS, AT(socket), 0, 0, HELP_ENDS, OF_MESSAGES,
	 "nodelay, more, sndbuf=B, rcvbuf=B, congestion=NAME, device=NAME", "socket",
	 .set = set_socket},
	{"address", "ADDR", ROW_TEXT, AT(address), 0, 0, HELP_ENDS, OF_ALL,
	 "address of the receiver (default 127.0.0.1)", "address", .usual = "127.0.0.1",
	 .means = has_address, .set = set_address},
	{"port", "N", ROW_UNSIGNED, AT(port), 0, 65535, HELP_ENDS, OF_ALL,
	 "port of the receiver (default 0: any free one)", .means = has_port},
	{"netns", "NAME", ROW_TEXT, AT(netns), 0, 0, HELP_ENDS, OF_ALL,
	 "network namespace of the receiver (ip netns)", "netns", .set = set_netns},
	{"link", "LIST", ROW_WORD, AT(link), 0, 0, HELP_ENDS, OF_ALL,
	 "loopback (default), or veth: a veth pair that the run creates",
	 .usual = "loopback", .words = links, LISTED(links)},
	{"peer", "HOST:PORT", ROW_TEXT, AT(peer), 0, 0, HELP_ENDS, OF_MESSAGES,
	 "the receiver is loadgen serve there", .set = set_peer},
	{"key", "FILE", ROW_TEXT, AT(key), 0, 0, HELP_ENDS, OF_MESSAGES,
	 "file with the key of the receiver at --peer", .key = NULL},
	{"pin", "auto|none", ROW_WORD, AT(pinning), 0, 0, HELP_ENDS, OF_ALL,
	 "CPUs: half for each end, or any (default auto)", .words = pins},
	{.name = NULL},
};

const struct load_row socket_rows[] = {
	{"nodelay", NULL, ROW_FLAG, AT(socket.nodelay), .key = "nodelay", .cell = ",nodelay"},
	{"more", NULL, ROW_FLAG, AT(socket.more), .key = "more", .cell = ",more"},
	{"sndbuf", "B", ROW_BYTES, AT(socket.sndbuf), 1, 1 << 30, .key = "sndbuf",
	 .cell = ",sndbuf%s", .such = "256K"},
	{"rcvbuf", "B", ROW_BYTES, AT(socket.rcvbuf), 1, 1 << 30, .key = "rcvbuf",
	 .cell = ",rcvbuf%s", .such = "256K"},
	{"congestion", "NAME", ROW_NAME, AT(socket.congestion), .key = "congestion",
	 .cell = ",%s"},
	{"device", "NAME", ROW_NAME, AT(socket.device), .key = "device", .cell = ",%s"},
	{.name = NULL},
};
/* clang-format on */
_Static_assert(sizeof(load_rows) / sizeof(load_rows[0]) <= OPTIONS_MAX, "OPTIONS_MAX");
