/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>

#include "loadgen/options.h"

static const struct argp_option options[] = {
	{"variant", LOAD_VARIANT, "LIST", 0,
	 "send variants: twocopy, onecopy, zerocopy (all), write, writev, sendfile, splice, uring, "
	 "uring_zc (every, without those this kernel lacks), null (default zerocopy)",
	 0},
	{"size", LOAD_SIZE, "LIST", 0, "bytes of a message, 64 to 16M (default 16K)", 0},
	{"fields", LOAD_FIELDS, "N", 0, "separate allocations a message has (default 8)", 0},
	{"field-size", LOAD_FIELD_SIZE, "B", 0, "bytes of a field: size = fields x field-size", 0},
	{"threads", LOAD_THREADS, "LIST", 0, "sending threads, a connection each (default 1)", 0},
	{"duration", LOAD_DURATION, "T", 0, "measure for 10s, 0.5, 200ms (default 5)", 0},
	{"messages", LOAD_MESSAGES, "N", 0, "send N messages a thread instead", 0},
	{"warmup", LOAD_WARMUP, "T", 0, "send uncounted before that (default 0.2)", 0},
	{"inflight", LOAD_INFLIGHT, "N", 0, "zero-copy messages in flight (default 32)", 0},
	{"registered", LOAD_REGISTERED, NULL, 0, "uring_zc: from registered buffers", 0},
	{"file-dir", LOAD_FILE_DIR, "DIR", 0, "sendfile: from a file there, not in memory", 0},
	{"working-set", LOAD_WORKING_SET, "B", 0, "take the fields from so much data", 0},
	{"pick", LOAD_PICK, "order|random", 0, "take them so (default order)", 0},
	{"seed", LOAD_SEED, "N", 0, "of a random pick (default 1)", 0},
	{"align", LOAD_ALIGN, "B", 0, "begin each field at a multiple of B", 0},
	{"huge-pages", LOAD_HUGE_PAGES, NULL, 0, "have the fields in huge pages", 0},
	{"rate", LOAD_RATE, "N", 0, "N messages a second and thread; latency from when due", 0},
	{"socket", LOAD_SOCKET, "LIST", 0,
	 "nodelay, more, sndbuf=B, rcvbuf=B, congestion=NAME, device=NAME", 0},
	{"reuse-early", LOAD_REUSE_EARLY, NULL, 0, "wrongly write to memory still in use", 0},
	{"verify", LOAD_VERIFY, NULL, 0, "have the receiver check every byte", 0},
	{"pin", LOAD_PIN, "auto|none", 0, "CPUs: half for each end, or any (default auto)", 0},
	{"rcvlowat", LOAD_RCVLOWAT, "B", 0, "bytes for which the receiver wakes", 0},
	{"address", LOAD_ADDRESS, "ADDR", 0, "the receiver listens on it (default 127.0.0.1)", 0},
	{"port", LOAD_PORT, "N", 0, "and on this port (default 0, any free one)", 0},
	{"netns", LOAD_NETNS, "NAME", 0, "and in this network namespace (ip netns)", 0},
	{"link", LOAD_LINK, "loopback|veth", 0, "veth: own devices for this run", 0},
	{"peer", LOAD_PEER, "HOST:PORT", 0, "the receiver is loadgen serve there", 0},
	{"workload", LOAD_WORKLOAD, "NAME", 0, "stream, request or procinfo (default stream)", 0},
	{"server-model", LOAD_SERVER_MODEL, "LIST", 0, "iterative, threaded, select, epoll or all",
	 0},
	{"connections", LOAD_CONNECTIONS, "LIST", 0, "at once, to 10000 (default 10,50,100)", 0},
	{"client-model", LOAD_CLIENT_MODEL, "NAME", 0, "threaded or epoll (above 1024)", 0},
	{"backlog", LOAD_BACKLOG, "N", 0, "length of the listen queue (default 4096)", 0},
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
