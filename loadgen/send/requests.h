/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Request and response over a connection: the receiver asks, the sender answers each
 * request with one message. The next is asked when the answer is complete.
 */
#pragma once

#include <stdbool.h>

#define REQUEST_BYTES 64

struct sender;

/* A connection's state of it, at the sender. */
struct requests {
	unsigned int read; /* bytes of the next request; complete: it waits for its answer */
};

/* Prepares the socket. 0 or -errno. */
int requests__setup(struct sender *s);

/*
 * Answers, each by run with one message, until the deadline has passed or none
 * remain. 0 or -errno; -EPIPE when the other end asks no more.
 */
int requests__answer(struct sender *s, struct requests *r, int (*run)(struct sender *s));
