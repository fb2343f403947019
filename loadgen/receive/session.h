/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One load that a receiver on this machine takes from a sender elsewhere (wire.h). */
#ifndef SENDPATH_SESSION_H
#define SENDPATH_SESSION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "loadgen/receive/receiver_process.h"
#include "loadgen/receive/wire.h"

struct session {
	struct receiver_process process;
	uint32_t id;
	int control;
	pthread_mutex_t replying;
	unsigned int waiting; /* threads that will still reply; guarded by replying */
	pthread_cond_t waited;
	bool *taken; /* slots that got their connection */
};

/* Of a hello whose numbers were looked at; fd stays the caller's. NULL when out of memory. */
struct session *session__create(int fd, const struct wire_hello *h, uint32_t id);

/* Does what a message asks, and replies. -EPROTO if that is no message. */
int session__handle(struct session *s, struct wire_message *m);

/* No connection joins any more: waits for every thread that uses it, and frees it. */
void session__end(struct session *s);

#endif
