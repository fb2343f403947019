/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What TCP counts: the protocol's own counters, of the network namespace that the caller is in, and
 * those of the sending sockets (TCP_INFO).
 */
#pragma once

#include <linux/tcp.h> /* netinet's tcp_info has fewer members */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct json_object;

#define NETSTAT_MAX 24

struct netstat {
	bool read;		 /* false: it could not be */
	bool known[NETSTAT_MAX]; /* this kernel has it */
	uint64_t values[NETSTAT_MAX];
};

/*
 * Reads /proc/self/net, and adds those of another process's namespace unless other is 0; what
 * cannot be read stays unknown.
 */
void netstat__read(struct netstat *n, pid_t other);

/* Parses the counters of two lines, "TcpExt: NAME ..." and "TcpExt: VALUE ...". Pure. */
void netstat__parse(struct netstat *n, const char *names, const char *values);

/* How often each was counted between the two; null what is unknown. NULL: nothing was read. */
struct json_object *netstat__json(const struct netstat *before, const struct netstat *after);

/* One socket's counts since it was connected, and its state. What an older kernel lacks is 0. */
struct tcp_state {
	struct tcp_info info;
	char congestion[16]; /* name of its congestion control; "": unknown */
};

#define TCP_VALUES_MAX 16

/* Over sockets: sums of the differences, extremes and sums of the states. */
struct tcp_sockets {
	uint32_t count;
	uint64_t values[TCP_VALUES_MAX];
	char congestion[16]; /* of the first: all were made alike */
};

/* 0 or -errno. */
int tcp_state__read(int fd, struct tcp_state *s);
/* Adds what a socket did between the two; pure. */
void tcp_sockets__add_socket(struct tcp_sockets *all, const struct tcp_state *before,
			     const struct tcp_state *after);
/* NULL for no sockets. */
struct json_object *tcp_sockets__json(const struct tcp_sockets *all);
