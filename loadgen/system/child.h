/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A child process is one end of the connections, so that its CPU time and counters are separate.
 * Neither process outlives the other: the child is killed when its parent dies, and it ends when
 * their socket pair, over which it answers requests, is closed.
 */
#pragma once

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/program.h"

struct json_object;

/* The CPUs of the two ends. */
struct cpus {
	bool split; /* the two ends run on different CPUs */
	cpu_set_t sender;
	cpu_set_t receiver;
};

/* Splits the available CPUs in two halves, unless there are fewer than two. Pure. */
void cpus__split(struct cpus *c, const cpu_set_t *allowed);

/* Splits the CPUs of the calling thread's affinity. */
void cpus__plan(struct cpus *c);

/* Returns the set as an array: [0, 1, 2]. */
struct json_object *cpus__json(const cpu_set_t *set);

/*
 * Raises the limit of open files as far as possible. Returns 0, or -errno if that is less than
 * needed.
 */
int raise_files(const char *who, unsigned int needed, const char *remedy, struct failure *f);

/* CPU time of a process, in microseconds: the values of REQUEST_CPU_TIME. */
struct cpu_time {
	uint64_t user_us, system_us;
};

/* Returns the CPU time of the calling process, with all its threads. */
struct cpu_time cpu_time__own(void);

/* The numbers of the first three are also sent on the wire (receive/wire.h). */
enum request_type {
	REQUEST_CPU_TIME = 1,
	REQUEST_MARK,  /* to a receiver: set SO_RCVLOWAT */
	REQUEST_STATE, /* to a remote receiver: report a slot once it has this many bytes */
	REQUEST_ADOPT, /* to a receiver: take the connection from this port */
	REQUEST_BEGIN, /* to a server: start serving */
};

/* A request; its reply is the same message with err, and with values if the request has any. */
#define REQUEST_VALUES 7
struct request {
	uint32_t type;
	uint32_t number; /* distinguishes a late reply of an earlier request */
	uint32_t slot;
	int32_t err; /* 0 or a negative errno */
	uint64_t values[REQUEST_VALUES];
};

/* Fills in the reply to REQUEST_CPU_TIME. */
void cpu_time__answer(struct request *q);

struct child {
	const char *name; /* "receiver", "server"; NULL: none was forked */
	pid_t pid;	  /* 0 when it has been reaped */
	int channel;	  /* SOCK_SEQPACKET: requests and replies; hung up when the process ends */
	void *shared;	  /* shared memory; first, a struct failure: why the child ended */
	size_t shared_bytes;
	pthread_mutex_t asking; /* guards requests, replies and number */
	uint32_t number;
	_Atomic bool silent; /* the child is stopped: a request would wait in vain */
};

/*
 * Forks the child; must be called before there are threads. Returns 0 in the parent, 1 in the
 * child, or -errno. The child keeps only the channel, the listener and the standard descriptors,
 * leaves the terminal's signals to its parent, and runs on cpus if they are given.
 */
int child__fork(struct child *c, const char *name, size_t shared_bytes, int listener,
		const cpu_set_t *cpus, struct failure *f);

/* Ends the child and waits for its end; does nothing if none was forked. */
void child__stop(struct child *c);

/* In the child: answers the next request, unless the other end of the channel is closed. */
bool child__answer(int channel, void (*answer)(struct request *q, void *arg), void *arg);

/*
 * Sends a request and reads its reply into it; any thread may call this. Returns 0 or -errno, which
 * may be the reply's.
 */
int child__request(struct child *c, struct request *q, int timeout_ms);

/* Returns whether a signal has stopped the child and it has not continued. */
bool child__is_stopped(const struct child *c);

/* Reads the child's CPU time so far. Returns -errno if it does not reply. */
int child__cpu_time(struct child *c, struct cpu_time *t);

/* Writes into f why the child ended before the run was over. */
void child__explain_death(struct child *c, struct failure *f);
