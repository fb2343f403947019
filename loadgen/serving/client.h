/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The connecting process: keeps so many connections under way, each one connect,
 * answer, end of file, close; and times them. By a thread for each of them, or by
 * one thread and epoll.
 */
#pragma once

#include <stdatomic.h>
#include <sys/socket.h>

#include "bpf/hist.h"
#include "common/program.h"
#include "loadgen/send/sender.h"
#include "loadgen/system/barrier.h"

struct load;
struct server_shared;

/* What a phase counted; starts from zero with each phase. Times in ns. */
struct visits {
	uint64_t started;    /* first of the counters that add up */
	uint64_t answered;   /* all came, up to the end of file */
	uint64_t unfinished; /* given up, because the end was asked for */
	uint64_t unanswered; /* given up, because nothing came for long */
	uint64_t bytes;
	uint64_t errors[ERRNO_LIMIT]; /* those that failed, by errno */
	struct hist connect;	      /* connect() to connected */
	struct hist accept;	      /* connected to accepted by the server; 0 if it was first */
	struct hist work;	      /* accepted to the answer ready */
	struct hist answer;	      /* connect() to the answer's end of file */
	uint64_t end_ns;	      /* of the last that was answered */
	uint64_t turned_away;	      /* connections of others, since the server began */
};

/* A thread of the client and what it counts. */
struct visitor {
	struct client *client;
	uint64_t rounds; /* connections a slot, in this phase */
	struct visits visits;
	struct failure failure;
};

struct client {
	const struct load *load;
	struct sockaddr_storage address;
	socklen_t length;
	struct server_shared *shared;
	_Atomic uint64_t deadline_ns; /* of the phase: no connection begins any more */
	int abort_fd;		      /* readable: give up what is under way */
	_Atomic uint64_t progress_ns; /* when any connection was answered last */
	struct visitor *visitors;
	struct barrier *barrier;
};

/* A thread of it: waits at the barrier for phases, and makes so many rounds in each at most. */
void *client__visit(void *visitor);
