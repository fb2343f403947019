// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The variants that need no completion: the kernel copies the message, which the application has
 * gathered in one buffer (flat) or which lies in fields. They use the system calls of sockets or of
 * files. The variant null does everything except the send.
 */
#include <string.h>
#include <unistd.h>

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
	message__destroy(&c->flat);
}

static int set_up_flat(struct sender *s, const struct load *load)
{
	struct copied *c = s->state;
	int err = message__create(&c->flat, load->message_bytes, 1, true);

	return err ? err : copied__setup(s, load);
}

static always_inline void gather(char *to, const struct message *m)
{
	for (unsigned int i = 0; i < m->count; i++) {
		memcpy(to, m->fields[i].iov_base, m->fields[i].iov_len);
		to += m->fields[i].iov_len;
	}
}

static always_inline int flat__send_one(struct sender *s, enum send_mode mode, copied_send_fn send)
{
	struct copied *c = s->state;

	prepare(s, c->pool.messages, mode);
	gather(c->flat.fields->iov_base, c->pool.messages);
	return send_all(s, &c->flat, send);
}

static ssize_t send_flat(struct sender *s, struct iovec *iov, unsigned int one)
{
	(void)one;
	return sender__account(s,
			       send(s->fd, iov->iov_base, iov->iov_len, MSG_NOSIGNAL | s->flags));
}

static ssize_t send_fields(struct sender *s, struct iovec *iov, unsigned int count)
{
	return sender__sendmsg(s, iov, count, 0);
}

static ssize_t write_flat(struct sender *s, struct iovec *iov, unsigned int one)
{
	(void)one;
	return sender__account(s, write(s->fd, iov->iov_base, iov->iov_len));
}

static ssize_t write_fields(struct sender *s, struct iovec *iov, unsigned int count)
{
	return sender__account(s, writev(s->fd, iov, (int)count));
}

static always_inline int null_one(struct sender *s, enum send_mode mode)
{
	(void)s;
	(void)mode;
	return 0;
}

/* One row per variant: its name, its functions that send a message, its flags, its setup. */
#define COPIED(variant, send_one, send, is, set_up)                                             \
	static always_inline int variant##_one(struct sender *s, enum send_mode mode)           \
	{                                                                                       \
		return send_one(s, mode, send);                                                 \
	}                                                                                       \
	SEND_VARIANT(variant, variant##_one, .flags = is, .state_bytes = sizeof(struct copied), \
		     .setup = set_up, .teardown = copied__teardown)

COPIED(twocopy, flat__send_one, send_flat, SEND_COURSE, set_up_flat);
COPIED(onecopy, fields__send_one, send_fields, SEND_COURSE, copied__setup);
COPIED(write, flat__send_one, write_flat, SEND_FLAGLESS, set_up_flat);
COPIED(writev, fields__send_one, write_fields, SEND_FLAGLESS, copied__setup);

SEND_VARIANT(null, null_one, .flags = SEND_NOTHING);
