/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Common to the variants whose data are copied before a send returns. */
#pragma once

#include "loadgen/send/pool.h"
#include "loadgen/send/send_loop.h"

/* The beginning of these variants' state. */
struct copied {
	struct pool pool;    /* holds one message */
	struct message flat; /* one field, in which the application gathers the message */
};

int copied__setup(struct sender *s, const struct load *load);
void copied__teardown(struct sender *s);

typedef ssize_t (*copied_send_fn)(struct sender *s, struct iovec *iov, unsigned int count);

/* Sends until the kernel has taken all of the message. */
static always_inline int send_all(struct sender *s, struct message *m, copied_send_fn send)
{
	struct iovec *iov = m->fields;
	unsigned int count = m->count;
	size_t done = 0;

	for (;;) {
		ssize_t n = send(s, iov, count);

		if (n == -EINTR)
			continue;
		if (n < 0)
			return (int)n;
		done += (size_t)n;
		if (done == m->bytes)
			return 0;
		iov = message__rest(m, done, &count);
	}
}

/* Sends a message whose fields the kernel gathers. */
static always_inline int fields__send_one(struct sender *s, enum send_mode mode,
					  copied_send_fn send)
{
	struct copied *c = s->state;

	prepare(s, c->pool.messages, mode);
	return send_all(s, c->pool.messages, send);
}
