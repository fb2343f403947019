/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What variants share whose data are copied before a send returns. */
#pragma once

#include <errno.h>
#include <string.h>

#include "loadgen/send/pool.h"
#include "loadgen/send/send_loop.h"

/* The kernel gathers the fields. The state begins with a struct pool of one message. */
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

/* The application gathers them into one buffer, and sends that. */
struct flat {
	struct pool pool; /* of one message */
	char *buffer;
};

int flat__setup(struct sender *s, const struct load *load);
void flat__teardown(struct sender *s);

static always_inline void flat__gather(char *to, const struct message *m)
{
	for (unsigned int i = 0; i < m->count; i++) {
		memcpy(to, m->fields[i].iov_base, m->fields[i].iov_len);
		to += m->fields[i].iov_len;
	}
}

typedef ssize_t (*flat_send_fn)(struct sender *s, const void *data, size_t length);

static always_inline int flat__send_one(struct sender *s, enum send_mode mode, flat_send_fn send)
{
	struct flat *t = s->state;
	struct message *m = t->pool.messages;
	size_t done = 0;

	prepare(s, m, mode);
	flat__gather(t->buffer, m);
	while (done < m->bytes) {
		ssize_t n = send(s, t->buffer + done, m->bytes - done);

		if (n == -EINTR)
			continue;
		if (n < 0)
			return (int)n;
		done += (size_t)n;
	}
	return 0;
}
