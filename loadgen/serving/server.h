/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The serving process: accepts connections, answers each and closes it, by one of
 * the models.
 */
#pragma once

#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "loadgen/system/child.h"

struct cpus;
struct listener;
struct load;

/* The two processes with most CPU time, as /proc has them: what the server answers. */
#define PROCINFO_TOP  2
#define PROCINFO_TEXT 256 /* bytes of an answer at most */

struct procinfo {
	int pid;
	char name[16];			 /* as the kernel has it: anybody can choose one */
	unsigned long long user, system; /* clock ticks */
};

/* Reads a line of /proc/PID/stat; a name may hold anything. 0, or -EINVAL. Pure. */
int procinfo__parse(const char *stat, struct procinfo *p);

/* Keeps the most CPU time first; count is how many top holds so far, and returned. Pure. */
size_t procinfo__keep(struct procinfo *top, size_t count, const struct procinfo *p);

/*
 * A line for each: "pid name user system\n", times in seconds, control characters
 * of names as '?'. Bytes written. Pure.
 */
size_t procinfo__text(const struct procinfo *top, size_t count, char text[PROCINFO_TEXT]);

/* Reads all of /proc. Bytes of the answer, or -errno. */
int procinfo__answer(char text[PROCINFO_TEXT]);

/* When the connection from a port was taken, and its answer ready: CLOCK_MONOTONIC, ns. */
struct served {
	_Atomic bool ours; /* the client is about to connect from it */
	_Atomic uint64_t accepted_ns;
	_Atomic uint64_t ready_ns;
};

/* The memory that the server and the client share. */
struct server_shared {
	struct failure failure;		/* why the server ended, once it is gone; first: child.h */
	_Atomic uint64_t strangers;	/* turned away: no connection of our client */
	struct sockaddr_storage client; /* its address, whatever its port */
	struct served ports[65536];	/* by the client's port */
};

struct server;

/* To add one: a function and a row in server.c. */
struct serve_model {
	const char *name;
	/* Serves until the process ends; returns only on failure: -errno, words in s->shared. */
	int (*serve)(struct server *s);
	/* Concurrent connections that it can hold, and why; 0: as many as the limits allow. */
	unsigned int most;
	const char *limit;
};

extern const struct serve_model serve_models[];
extern const size_t serve_model_count;

/* NULL if there is none of that name. */
const struct serve_model *serve_model__find(const char *name);

/*
 * For its parent. Forks it, its shared memory a struct server_shared; must be called
 * before there are threads. Closes l in the caller.
 */
int serving__start(struct child *c, struct listener *l, const struct load *load,
		   const struct cpus *cpus, struct failure *f);
/* Has it serve: until then it has one thread, and connections wait. */
int serving__begin(struct child *c, struct failure *f);
