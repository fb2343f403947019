/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What serves senders elsewhere (wire.h): the connections that come (pending.c), and the one load
 * that is taken at a time: its connections, requests and limits (session.c).
 */
#pragma once

#include "loadgen/load.h"
#include "loadgen/receive/receiver.h"
#include "loadgen/receive/wire.h"

/* What one session may have at most. */
struct session_limits {
	size_t bytes;
	double seconds;
};

struct session {
	const struct session_limits *limits;
	const uint8_t *secret;
	int control; /* to the sender */
	struct receiver_process process;
	int event;	 /* an eventfd, written when a connection may have what is asked of it */
	uint32_t number; /* of the last request */
	uint64_t begin_ns, heard_ns, moved_ns, looked_ns;
	uint64_t received;	     /* when it moved last */
	uint32_t asked[THREADS_MAX]; /* the number of a STATE that is not answered yet; 0: none */
	bool taken[THREADS_MAX];     /* there is a thread */
	pthread_t threads[THREADS_MAX];
};

/* Begins the load of a CONTROL; its first three members are set. NULL, or why not. */
const char *session__begin(struct session *s, const struct request *control);

/* Has a connection received whose DATA it is. NULL, or why not: then fd stays the caller's. */
const char *session__join(struct session *s, int fd, struct wire_message *data);

/* Executes a request and replies to it, where there is room for that. -EBADMSG: it is not signed;
 * -EPROTO: it cannot be. */
int session__handle(struct session *s, struct wire_message *m);

/* To be called when event is readable, or WIRE_LOOK_MS passed: NULL, or why it has to end. */
const char *session__go_on(struct session *s);

/* Ends its connections. */
void session__end(struct session *s);

/*
 * Takes connections until stop is readable, and gives them what wire.h says. One sender at a time
 * has a session. key: what a sender must prove to have, or NULL. 0 or -errno.
 */
int pending__serve(int listener, int stop, const struct session_limits *limits,
		   const struct key *key);
