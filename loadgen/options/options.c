/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>

#include "loadgen/options/help.h"
#include "loadgen/options/options.h"

static const struct argp_option options[] = {
	{NULL, 0, NULL, 0, "The load:", HELP_LOAD},
	{"workload", LOAD_WORKLOAD, "NAME", 0,
	 "stream, request or procinfo: one end streams messages to the other, or answers each "
	 "request with one, or answers many short connections (default stream)",
	 HELP_LOAD},
	{"variant", LOAD_VARIANT, "LIST", 0,
	 "send variants: twocopy, onecopy, zerocopy (all), write, writev, sendfile, splice, uring, "
	 "uring_zc (every, without those this kernel lacks), null (default zerocopy)",
	 HELP_LOAD},
	{"size", LOAD_SIZE, "LIST", 0, "bytes of a message, 64 to 16M (default 16K)", HELP_LOAD},
	{"fields", LOAD_FIELDS, "N", 0, "separate allocations a message has (default 8)",
	 HELP_LOAD},
	{"threads", LOAD_THREADS, "LIST", 0, "sending threads, a connection each (default 1)",
	 HELP_LOAD},
	{"duration", LOAD_DURATION, "T", 0, "measure for 10s, 0.5, 200ms (default 5)", HELP_LOAD},
	{"verify", LOAD_VERIFY, NULL, 0, "have the receiver check every byte", HELP_LOAD},
	{NULL, 0, NULL, 0, "Its messages:", HELP_MESSAGES},
	{"field-size", LOAD_FIELD_SIZE, "B", 0, "bytes of a field: size = fields x field-size",
	 HELP_MESSAGES},
	{"messages", LOAD_MESSAGES, "N", 0, "send N messages a thread, instead of --duration",
	 HELP_MESSAGES},
	{"warmup", LOAD_WARMUP, "T", 0, "send uncounted before that (default 0.2)", HELP_MESSAGES},
	{"inflight", LOAD_INFLIGHT, "N", 0, "zero-copy messages in flight (default: 1 MiB of them)",
	 HELP_MESSAGES},
	{"registered", LOAD_REGISTERED, NULL, 0, "uring_zc: from registered buffers",
	 HELP_MESSAGES},
	{"file-dir", LOAD_FILE_DIR, "DIR", 0, "sendfile: from a file there, not in memory",
	 HELP_MESSAGES},
	{"working-set", LOAD_WORKING_SET, "B", 0, "take the fields from so much data",
	 HELP_MESSAGES},
	{"pick", LOAD_PICK, "order|random", 0, "take them so (default order)", HELP_MESSAGES},
	{"seed", LOAD_SEED, "N", 0, "of a random pick (default 1)", HELP_MESSAGES},
	{"align", LOAD_ALIGN, "B", 0, "begin each field at a multiple of B", HELP_MESSAGES},
	{"huge-pages", LOAD_HUGE_PAGES, NULL, 0, "have the fields in huge pages", HELP_MESSAGES},
	{"rate", LOAD_RATE, "N", 0, "N messages a second and thread; latency from when due",
	 HELP_MESSAGES},
	{"reuse-early", LOAD_REUSE_EARLY, NULL, 0, "wrongly write to memory still in use",
	 HELP_MESSAGES},
	{NULL, 0, NULL, 0, "The two ends:", HELP_ENDS},
	{"pin", LOAD_PIN, "auto|none", 0, "CPUs: half for each end, or any (default auto)",
	 HELP_ENDS},
	{"rcvlowat", LOAD_RCVLOWAT, "B", 0,
	 "bytes that must wait before the receiver wakes (default: many; 1: any)", HELP_ENDS},
	{"address", LOAD_ADDRESS, "ADDR", 0, "the receiver listens on it (default 127.0.0.1)",
	 HELP_ENDS},
	{"port", LOAD_PORT, "N", 0, "and on this port (default 0, any free one)", HELP_ENDS},
	{"netns", LOAD_NETNS, "NAME", 0, "and in this network namespace (ip netns)", HELP_ENDS},
	{"link", LOAD_LINK, "LIST", 0,
	 "loopback; veth: by a pair of devices of the run's own, between two namespaces",
	 HELP_ENDS},
	{"peer", LOAD_PEER, "HOST:PORT", 0, "the receiver is loadgen serve there", HELP_ENDS},
	{"socket", LOAD_SOCKET, "LIST", 0,
	 "nodelay, more, sndbuf=B, rcvbuf=B, congestion=NAME, device=NAME", HELP_ENDS},
	{NULL, 0, NULL, 0, "Many short connections:", HELP_SERVING},
	{"server-model", LOAD_SERVER_MODEL, "LIST", 0,
	 "iterative, threaded, select, epoll or all (default iterative)", HELP_SERVING},
	{"connections", LOAD_CONNECTIONS, "LIST", 0, "at once, to 10000 (default 10,50,100)",
	 HELP_SERVING},
	{"client-model", LOAD_CLIENT_MODEL, "NAME", 0,
	 "threaded or epoll (default threaded; above 1024 connections epoll)", HELP_SERVING},
	{"backlog", LOAD_BACKLOG, "N", 0, "length of the listen queue (default 4096)",
	 HELP_SERVING},
	{0},
};

/* argp_error() would add a second line that only says to try --help. */
static error_t refuse(struct argp_state *state, const char *why)
{
	argp_failure(state, 2, 0, "%s", why);
	return EINVAL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct load_options *o = state->input;
	char why[256];

	switch (key) {
	case ARGP_KEY_INIT:
		load_options__init(o);
		return 0;
	case ARGP_KEY_SUCCESS:
		return load_options__resolve(o, why, sizeof(why)) ? refuse(state, why) : 0;
	case LOAD_VARIANT ... LOAD_KEYS_END - 1:
		return load_options__set(o, key, arg, why, sizeof(why)) ? refuse(state, why) : 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp load_argp = {.options = options, .parser = parse};
