/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel sends from our memory, which stays unchanged until the kernel has completed the send.
 * A pool of messages is used in turn, and a free one is sent next. The error queue is read when no
 * message is free, and at intervals of bytes sent: longer intervals coalesce many completions into
 * one notification, but memory that was freed long ago has left the cache.
 */
#include <poll.h>
#include <stdlib.h>

#include "loadgen/load.h"
#include "loadgen/send/inflight.h"
#include "loadgen/send/pool.h"
#include "loadgen/send/send_loop.h"
#include "loadgen/send/send_ops.h"

#define READ_BYTES (64u << 10)

struct zerocopy {
	struct inflight *inflight;
	struct pool pool;
	size_t unread;	  /* bytes sent since the error queue was read */
	uint32_t depth;	  /* most sends in flight with reuse_early */
	bool reuse_early; /* one message is written to before its completion */
	uint32_t early;	  /* the message that is written to early; it is never free */
};

static void tear_down_zerocopy(struct sender *s)
{
	struct zerocopy *z = s->state;

	pool__destroy(&z->pool);
	free(z->inflight);
}

static int enable(struct sender *s)
{
	int one = 1;

	if (!setsockopt(s->fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)))
		return 0;
	return failure__set(&s->failure, STATUS_SYSTEM, -errno,
			    "SO_ZEROCOPY: %m: zero-copy TCP sends need Linux 4.14 or newer");
}

static int set_up_zerocopy(struct sender *s, const struct load *load)
{
	struct zerocopy *z = s->state;
	int err = enable(s);

	if (err)
		return err;
	z->reuse_early = load->reuse_early;
	z->depth = load->inflight;
	z->inflight = inflight__create(load->inflight, 0);
	err = z->inflight ? pool__create(&z->pool, s, load, pool__depth(load)) : -ENOMEM;
	if (!err && z->reuse_early)
		z->early = inflight__take_message(z->inflight);
	return err;
}

static int apply_completion(struct sender *s, const struct completion *c)
{
	struct zerocopy *z = s->state;
	uint32_t sends = c->high - c->low + 1;
	int err = inflight__complete(z->inflight, c->low, c->high);

	if (err)
		return failure__set(&s->failure, STATUS_FAILED, err,
				    "the kernel completed zero-copy sends %u to %u, which are not "
				    "all in flight",
				    c->low, c->high);
	s->sent.zerocopy.notifications++;
	s->sent.zerocopy.completions += sends;
	if (c->copied)
		s->sent.zerocopy.copied += sends;
	return 0;
}

/* Returns the connection's error if poll() returned because of it. */
static int connection_error(struct sender *s, short events)
{
	socklen_t length = sizeof(int);
	int err = 0;

	if (atomic_load(&s->abandoned))
		return -ECANCELED;
	getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &err, &length);
	if (err)
		return -err;
	if (events & POLLHUP)
		poll(NULL, 0, 1); /* poll() never waits on a dead socket */
	return 0;
}

/*
 * Waits for a notification and applies it. Returns -ETIMEDOUT if none arrived in time (until_ns 0:
 * no limit; the coordinator can shut the socket down).
 */
static int await_notification(struct sender *s, uint64_t until_ns)
{
	struct pollfd p = {.fd = s->fd}; /* POLLERR needs no request */

	for (;;) {
		struct completion c;
		int n = completion__read(s->fd, &c);
		uint64_t now;

		if (n > 0)
			return apply_completion(s, &c);
		if (!n && p.revents) /* poll() returned without a notification */
			n = connection_error(s, p.revents);
		if (n)
			return n;
		now = until_ns ? now_ns() : 0;
		if (until_ns && now >= until_ns)
			return -ETIMEDOUT;
		p.revents = 0; /* a failed poll() does not set it */
		poll(&p, 1, until_ns ? (int)((until_ns - now) / 1000000 + 1) : -1);
	}
}

/* Handles a refused send: our sends or those of others have reached a limit. */
static int relieve_socket(struct sender *s, uint64_t *refused_since)
{
	struct zerocopy *z = s->state;

	s->sent.zerocopy.enobufs++;
	if (!inflight__count(z->inflight))
		return sender__wait_refused(s, refused_since, "", "ENOBUFS",
					    "net.core.optmem_max, or ");
	*refused_since = 0;
	return await_notification(s, 0);
}

static int send_pinned(struct sender *s, struct message *m, uint32_t message)
{
	struct zerocopy *z = s->state;
	struct iovec *iov = m->fields;
	unsigned int count = m->count;
	uint64_t refused_since = 0;
	size_t done = 0;

	for (;;) {
		ssize_t n = sender__sendmsg(s, iov, count, MSG_ZEROCOPY);
		int err = 0;

		s->sent.zerocopy.requests++;
		if (n >= 0) {
			inflight__count_send(z->inflight, message);
			done += (size_t)n;
			if (done == m->bytes)
				return 0;
			iov = message__rest(m, done, &count);
			while (!err && !inflight__has_room(z->inflight))
				err = await_notification(s, 0);
		} else if (n == -ENOBUFS) {
			err = relieve_socket(s, &refused_since);
		} else if (n != -EINTR) {
			err = (int)n;
		}
		if (err)
			return err;
	}
}

/* Reads and applies one notification if there is one. */
static int read_completion(struct sender *s)
{
	struct zerocopy *z = s->state;
	struct completion c;
	int n = completion__read(s->fd, &c);

	z->unread = 0;
	return n > 0 ? apply_completion(s, &c) : n;
}

/* Returns the message to send next; INFLIGHT_NONE: no message is free until a send completes. */
static uint32_t next_message(struct zerocopy *z)
{
	if (!inflight__has_room(z->inflight))
		return INFLIGHT_NONE;
	if (!z->reuse_early)
		return inflight__take_message(z->inflight);
	return inflight__count(z->inflight) < z->depth ? z->early : INFLIGHT_NONE;
}

static int await_message(struct sender *s, uint32_t *message)
{
	struct zerocopy *z = s->state;
	int err = z->unread >= READ_BYTES ? read_completion(s) : 0;

	while (!err && (*message = next_message(z)) == INFLIGHT_NONE)
		err = await_notification(s, 0);
	return err;
}

static always_inline int send_one_zerocopy(struct sender *s, enum send_mode mode)
{
	struct zerocopy *z = s->state;
	struct message *m;
	uint32_t message;
	int err;

	err = await_message(s, &message);
	if (err)
		return err;
	m = &z->pool.messages[message];
	prepare(s, m, mode);
	err = send_pinned(s, m, message);
	z->unread += m->bytes;
	if (!z->reuse_early)
		inflight__release_message(z->inflight, message);
	return err;
}

static int settle_socket(struct sender *s)
{
	struct zerocopy *z = s->state;
	uint64_t until = now_ns() + SETTLE_NS;
	int err = 0;

	while (!err && inflight__count(z->inflight))
		err = await_notification(s, until);
	return sender__missing(s, err, inflight__count(z->inflight), "zero-copy completions");
}

SEND_VARIANT(zerocopy, send_one_zerocopy, .flags = SEND_ZEROCOPY | SEND_COURSE | SEND_SHARES,
	     .state_bytes = sizeof(struct zerocopy), .setup = set_up_zerocopy,
	     .teardown = tear_down_zerocopy, .settle = settle_socket);
