// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The variants that need no completion: the kernel copies the message, which the application has
 * gathered in one buffer (flat) or which lies in fields. They use the system calls of sockets, or
 * those that files have, too. One variant does everything but the send.
 */
#include <stdlib.h>
#include <string.h>

#include "loadgen/load.h"
#include "loadgen/send/send_copied.h"
#include "loadgen/send/send_ops.h"

int copied__setup(struct sender *s, const struct load *load)
{
	return pool__create(s->state, s, load, 1);
}

void copied__teardown(struct sender *s)
{
	struct copied *c = s->state;

	pool__destroy(&c->pool);
	free(c->buffer);
}

static int set_up_flat(struct sender *s, const struct load *load)
{
	struct copied *c = s->state;

	c->buffer = malloc(load->message_bytes);
	return c->buffer ? copied__setup(s, load) : -ENOMEM;
}

static always_inline void gather(char *to, const struct message *m)
{
	for (unsigned int i = 0; i < m->count; i++) {
		memcpy(to, m->fields[i].iov_base, m->fields[i].iov_len);
		to += m->fields[i].iov_len;
	}
}

typedef ssize_t (*flat_send_fn)(struct sender *s, const void *data, size_t length);

static always_inline int flat__send_one(struct sender *s, enum send_mode mode, flat_send_fn send)
{
	struct copied *c = s->state;
	struct message *m = c->pool.messages;
	size_t done = 0;

	prepare(s, m, mode);
	gather(c->buffer, m);
	while (done < m->bytes) {
		ssize_t n = send(s, c->buffer + done, m->bytes - done);

		if (n == -EINTR)
			continue;
		if (n < 0)
			return (int)n;
		done += (size_t)n;
	}
	return 0;
}

static always_inline ssize_t send_message(struct sender *s, struct iovec *iov, unsigned int count)
{
	return sender__sendmsg(s, iov, count, 0);
}

static always_inline int null_one(struct sender *s, enum send_mode mode)
{
	(void)s;
	(void)mode;
	return 0;
}

/* One row per variant: its name, how it sends a message, its flags, its setup. */
#define COPIED(variant, send_one, send, is, set_up)                                             \
	static always_inline int variant##_one(struct sender *s, enum send_mode mode)           \
	{                                                                                       \
		return send_one(s, mode, send);                                                 \
	}                                                                                       \
	SEND_VARIANT(variant, variant##_one, .flags = is, .state_bytes = sizeof(struct copied), \
		     .setup = set_up, .teardown = copied__teardown)

COPIED(twocopy, flat__send_one, sender__send, SEND_COURSE, set_up_flat);
COPIED(onecopy, fields__send_one, send_message, SEND_COURSE, copied__setup);
COPIED(write, flat__send_one, sender__write, SEND_FLAGLESS, set_up_flat);
COPIED(writev, fields__send_one, sender__writev, SEND_FLAGLESS, copied__setup);

SEND_VARIANT(null, null_one, .flags = SEND_NOTHING);
