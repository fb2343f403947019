/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * TCP's counters: the protocol's, in the caller's network namespace, and the sending sockets'
 * (TCP_INFO).
 */
#pragma once

#include <linux/tcp.h> /* netinet's tcp_info has fewer members */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct json_object;

#define NETSTAT_MAX 24

struct netstat {
	bool read;		 /* false: nothing could be read */
	bool known[NETSTAT_MAX]; /* this kernel has the counter */
	uint64_t values[NETSTAT_MAX];
};

/*
 * Reads the counters of this process's namespace and, unless other is 0, adds those of another
 * process's. Counters that cannot be read stay unknown.
 */
void netstat__read(struct netstat *n, pid_t other);

/* Adds the counters of two lines, "TcpExt: NAME ..." and "TcpExt: VALUE ...". Pure. */
void netstat__parse(struct netstat *n, const char *names, const char *values);

/* Returns the growth of each counter; null if unknown. NULL: nothing was read. */
struct json_object *netstat__json(const struct netstat *before, const struct netstat *after);

/*
 * One socket's counts since it was connected, and its state. Members that an older kernel lacks are
 * 0.
 */
struct tcp_state {
	struct tcp_info info;
	char congestion[16]; /* name of its congestion control; "": unknown */
};

#define TCP_VALUES_MAX 16

/* Sums of the counts over all sockets; extremes and sums of the states. */
struct tcp_sockets {
	uint32_t count;
	uint64_t values[TCP_VALUES_MAX];
	char congestion[16]; /* the first socket's: all have the same options */
};

/* Reads a socket's state. Returns 0 or -errno. */
int tcp_state__read(int fd, struct tcp_state *s);
/* Adds the growth of a socket's counters between two readings, and its state. Pure. */
void tcp_sockets__add_socket(struct tcp_sockets *all, const struct tcp_state *before,
			     const struct tcp_state *after);
/* Returns the record's block about these sockets; NULL if there are none. */
struct json_object *tcp_sockets__json(const struct tcp_sockets *all);
