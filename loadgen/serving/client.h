/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The connecting process: keeps so many connections under way, each one connect,
 * answer, end of file, close; and times them. By a thread for each of them, or by
 * one thread and epoll.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "bpf/hist.h"
#include "common/program.h"
#include "loadgen/send/sender.h"
#include "loadgen/serving/procinfo.h"
#include "loadgen/system/barrier.h"

struct load;
struct listener;
struct server_shared;

/* What a phase counted; starts from zero with each phase. Times in ns. */
struct visits {
	uint64_t started;
	uint64_t answered;    /* all came, up to the end of file */
	uint64_t unfinished;  /* given up, because the end was asked for */
	uint64_t unanswered;  /* given up, because nothing came for long */
	uint64_t turned_away; /* connections of others, since the server began */
	uint64_t bytes;
	uint64_t errors[ERRNO_LIMIT]; /* those that failed, by errno */
	uint64_t end_ns;	      /* of the last that was answered */
	struct hist connect;	      /* connect() to connected */
	struct hist accept;	      /* connected to accepted by the server; 0 if it was first */
	struct hist work;	      /* accepted to the answer ready */
	struct hist answer;	      /* connect() to the answer's end of file */
};

/* One connection under way. */
struct visit {
	int fd; /* -1: none */
	bool connected;
	unsigned int port; /* ours */
	uint64_t begin_ns, connected_ns;
	size_t length;
	char text[PROCINFO_TEXT];
};

struct client;

/* A thread of the client and what it counts. */
struct visitor {
	struct client *client;
	uint64_t rounds; /* connections a slot, in this phase */
	struct visits visits;
	struct failure failure;
};

/* A client model: how the client keeps its connections under way. */
struct client_ops {
	const char *name;
	/* Runs a phase in one thread: until the deadline, or so many rounds. */
	void (*run)(struct visitor *v);
	bool single; /* one thread for all of them */
};

struct client {
	const struct load *load;
	const struct client_ops *ops;
	struct sockaddr_storage address;
	socklen_t length;
	struct server_shared *shared;
	_Atomic uint64_t deadline_ns;
	int abort_fd;		      /* readable: give up what is under way */
	_Atomic uint64_t progress_ns; /* when any connection was answered last */
	struct visitor *visitors;
	struct barrier barrier;
};

extern const struct client_ops client_threaded, client_epoll;

/* The threads exist and wait at the barrier; they serve for all phases. */
int client__create(struct client **out, const struct load *load, const struct listener *l,
		   struct server_shared *shared, struct failure *f);
/* Ends and joins the threads, which must wait at the barrier. NULL is fine. */
void client__destroy(struct client *c);
/* Starts a phase: until the deadline, or so many connections a slot. */
void client__begin(struct client *c, uint64_t deadline_ns, uint64_t rounds);
/* No connection begins any more; those under way end. */
void client__stop(struct client *c);
/* Those under way are given up, too. */
void client__abort(struct client *c);
/* Of all threads; client__failure(): the first, if one failed. */
void client__sum(const struct client *c, struct visits *sum);
void client__failure(const struct client *c, struct failure *f);

/*
 * For client_*.c. visit__begin: a connection is under way or stands; visit__connected:
 * the socket became writable; visit__read: it became readable, 1 if it is over. All
 * return a negative errno if it failed; visit__end counts how it went and closes.
 */
int visit__begin(struct visit *v, const struct client *c, struct visits *count);
int visit__connected(struct visit *v);
int visit__read(struct visit *v);
void visit__end(struct visit *v, int err, struct visitor *who);

/*
 * Nothing will come any more: it waits for long, and nobody was answered lately. A
 * listener that drops the last packet of a handshake leaves such connections: the
 * client takes them for made, the server has forgotten them.
 */
bool visit__is_lost(const struct visit *v, const struct client *c);

#define VISIT_LOOK_MS 1000 /* how often visit__is_lost() is called */
