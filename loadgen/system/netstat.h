/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The protocol's own counters, of the network namespace that the caller is in. */
#pragma once

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

/* Reads /proc/self/net; what cannot be read stays unknown. */
void netstat__read(struct netstat *n);

/* Adds those of another process's namespace, where it can be read. */
void netstat__add_process(struct netstat *n, pid_t pid);

/* Parses the counters of two lines, "TcpExt: NAME ..." and "TcpExt: VALUE ...". Pure. */
void netstat__parse(struct netstat *n, const char *names, const char *values);

/* How often each was counted between the two; null what is unknown. NULL: nothing was read. */
struct json_object *netstat__json(const struct netstat *before, const struct netstat *after);
