/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A child process that is one end of the connections, so that its time and counters are
 * its own. Neither process outlives the other: the child is killed with its parent, and
 * ends at the end of file of their socket pair, over which it answers requests.
 */
#pragma once

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/program.h"

struct json_object;

/* Which processors the two ends run on. */
struct cpus {
	bool split; /* the two ends run apart */
	cpu_set_t sender;
	cpu_set_t receiver;
};

/* Splits what we may run on in two halves; with fewer than 2, not at all. Pure. */
void cpus__split(struct cpus *c, const cpu_set_t *allowed);

/* The same of the calling thread's own affinity. */
void cpus__plan(struct cpus *c);

/* [0, 1, 2] */
struct json_object *cpus__json(const cpu_set_t *set);

/* Raises the limit of open files as far as it goes: 0, or -errno if that is less than needed. */
int raise_files(const char *who, unsigned int needed, const char *remedy, struct failure *f);

/* Processor time of a process. */
struct cpu_time {
	double user_s;
	double system_s;
};

/* Of the calling process, all its threads, so far. */
struct cpu_time cpu_time__own(void);

/* The first three are also on the wire (receive/wire.h), by these numbers. */
enum request_type {
	REQUEST_CPU_TIME = 1,
	REQUEST_MARK,  /* of a receiver: SO_RCVLOWAT */
	REQUEST_STATE, /* of a receiver elsewhere: what a slot has, once that is so much */
	REQUEST_ADOPT, /* of a receiver: take the connection from this port */
	REQUEST_BEGIN, /* of a server: serve */
};

/* Its reply is the same, with err, and values where it asks for some. */
#define REQUEST_VALUES 7
struct request {
	uint32_t type;
	uint32_t number; /* a reply that came too late is known by it */
	uint32_t slot;
	int32_t err; /* 0 or a negative errno */
	uint64_t values[REQUEST_VALUES];
};

/* Answers REQUEST_CPU_TIME: in microseconds. */
void cpu_time__answer(struct request *q);

struct child {
	const char *name; /* "receiver", "server"; NULL: none was forked */
	pid_t pid;	  /* 0 once it was reaped */
	int channel;	  /* SOCK_SEQPACKET: a request, a reply. Hung up when the process is gone */
	void *shared;	  /* memory of both; begins with a struct failure: why it ended */
	size_t shared_bytes;
	pthread_mutex_t asking; /* guards the conversation and its number */
	uint32_t number;
};

/*
 * Forks it; must be called before there are threads. 0 in the parent, 1 in the child,
 * or -errno. The child keeps no descriptor but the channel, the listener and the
 * standard three, leaves the terminal's signals to its parent, and runs on cpus if
 * these are given.
 */
int child__fork(struct child *c, const char *name, size_t shared_bytes, int listener,
		const cpu_set_t *cpus, struct failure *f);

/* Ends it and waits until it is gone; nothing if none was forked. */
void child__stop(struct child *c);

/* In it: answers the next request, unless the other end of the channel has closed. */
bool child__answer(int channel, void (*answer)(struct request *q, void *arg), void *arg);

/* Sends a request and reads its reply into it; any thread may. 0 or -errno, which may be the
 * reply's. */
int child__request(struct child *c, struct request *q, int timeout_ms);

/* Has a signal stopped it, and none continued it? */
bool child__is_stopped(const struct child *c);

/* Its processor time so far. -errno if it does not answer. */
int child__cpu_time(struct child *c, struct cpu_time *t);

/* The child ended before the run was over: writes how into f. */
void child__explain_death(struct child *c, struct failure *f);
