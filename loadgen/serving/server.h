/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The serving process: accepts, answers and closes connections, by one of the models. */
#pragma once

#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "loadgen/system/child.h"

struct cpus;
struct listener;
struct load;

/* The answer of the server lists the two processes with the most CPU time in /proc. */
#define PROCINFO_TOP  2
#define PROCINFO_TEXT 256 /* most bytes of an answer */

struct procinfo {
	int pid;
	char name[16];			 /* chosen by the process: any bytes */
	unsigned long long user, system; /* clock ticks */
};

/* Reads a line of /proc/PID/stat, with any bytes in the name. Returns 0, or -EINVAL. Pure. */
int procinfo__parse(const char *stat, struct procinfo *p);

/* Inserts a process, most CPU time first. top has count processes; returns the new count. Pure. */
size_t procinfo__keep(struct procinfo *top, size_t count, const struct procinfo *p);

/*
 * Writes one line per process, "pid name user system\n": times in seconds, control characters of
 * names as '?'. Returns the bytes written. Pure.
 */
size_t procinfo__text(const struct procinfo *top, size_t count, char text[PROCINFO_TEXT]);

/* When a client port's connection was accepted and its answer was ready: CLOCK_MONOTONIC, ns. */
struct served {
	_Atomic bool ours; /* the client is about to connect from this port */
	_Atomic uint64_t accepted_ns;
	_Atomic uint64_t ready_ns;
};

/* The memory that the server and the client share. */
struct server_shared {
	struct failure failure;		/* why the server ended; first member, as child.h demands */
	_Atomic uint64_t turned_away;	/* connections closed because they were not our client's */
	struct sockaddr_storage client; /* the client's address; the port is not used */
	struct served ports[65536];	/* the index is the client's port */
};

struct server;

/* A server model. To add one: a function and a row in server.c. */
struct serve_model {
	const char *name;
	/* Serves until the process ends. Returns only on failure: -errno, reason in s->shared. */
	int (*serve)(struct server *s);
	/* The most connections that it can serve at once, and why; 0: only system limits apply. */
	unsigned int most;
	const char *limit;
};

extern const struct serve_model serve_models[];
extern const size_t serve_model_count;

/* Returns the model of that name, or NULL. */
const struct serve_model *serve_model__find(const char *name);

/*
 * Forks the server, with a struct server_shared as its shared memory. Must be called in the parent
 * before there are threads. Closes l in the caller.
 */
int serving__start(struct child *c, struct listener *l, const struct load *load,
		   const struct cpus *cpus, struct failure *f);
/* Starts serving. Before this call, the process has one thread, and connections wait. */
int serving__begin(struct child *c, struct failure *f);
