/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What variants share that have the kernel gather the fields, and copy them at once. */
#ifndef SENDPATH_SEND_FIELDS_H
#define SENDPATH_SEND_FIELDS_H

#include <errno.h>

#include "loadgen/send/pool.h"
#include "loadgen/send/send_loop.h"

/* The state is a struct pool of one message. */
int fields__setup(struct sender *s, const struct load *load);
void fields__teardown(struct sender *s);

typedef ssize_t (*fields_send_fn)(struct sender *s, struct iovec *iov, unsigned int count);

static always_inline int fields__send_one(struct sender *s, enum send_mode mode,
					  fields_send_fn send)
{
	struct pool *p = s->state;
	struct message *m = p->messages;
	struct iovec *iov = m->fields;
	unsigned int count = m->count;
	size_t done = 0;

	prepare(s, m, mode);
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

#endif
