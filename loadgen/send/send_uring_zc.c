/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * io_uring's own zero-copy sends. Each operation has a result, which is awaited, as a
 * stream takes one send after the other; and a notification, when the kernel is done
 * with the memory, which a message waits for before it takes its turn again. Of
 * scattered fields it is one operation; from registered buffers one a field, linked,
 * because before Linux 6.15 such an operation takes one piece of memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "loadgen/load.h"
#include "loadgen/send/send_loop.h"
#include "loadgen/send/send_ops.h"
#include "loadgen/send/uring_zc.h"

static int probe(const struct load *load, char *why, size_t room)
{
	(void)load;
	return ring__probe(IORING_OP_SENDMSG_ZC,
			   "zero-copy sends of scattered fields (since Linux 6.1)", why, room);
}

static void teardown(struct sender *s)
{
	struct uring_zc *u = s->state;

	io_uring_queue_exit(&u->ring);
	pool__destroy(&u->pool);
	free(u->pending);
	free(u->failed);
	free(u);
}

static int register_memory(struct sender *s)
{
	struct uring_zc *u = s->state;
	const struct memory *m = pool__memory(&u->pool, s);
	struct iovec all = {m->base, m->bytes};
	int err = io_uring_register_buffers(&u->ring, &all, 1);

	return err ? failure__set(
			     &s->failure, STATUS_SYSTEM, err,
			     "--registered: %s: raise the locked-memory limit (ulimit -l) above "
			     "%zu bytes, at most 1 GiB",
			     strerror(-err), m->bytes)
		   : 0;
}

static int setup(struct sender *s, const struct load *load)
{
	struct uring_zc *u = calloc(1, sizeof(*u));
	uint32_t depth = pool__depth(load);
	int err;

	if (!u)
		return -ENOMEM;
	/* More notifications than the ring holds are kept by the kernel until they are taken. */
	err = ring__open(&u->ring, load->registered ? load->fields : 4, 1024, &s->failure);
	if (err) {
		free(u);
		return err;
	}
	s->state = u;
	u->usage = ring__reports_usage(&u->ring) ? IORING_SEND_ZC_REPORT_USAGE : 0;
	u->depth = load->inflight;
	u->reuse_early = load->reuse_early;
	u->registered = load->registered;
	u->pending = calloc(depth, sizeof(*u->pending));
	u->failed = calloc(depth, sizeof(*u->failed));
	err = u->pending && u->failed ? pool__create(&u->pool, s, load, depth) : -ENOMEM;
	if (!err && u->registered)
		err = register_memory(s);
	if (err)
		teardown(s);
	return err;
}

static void add_message(struct sender *s, struct iovec *iov, unsigned int count, unsigned int flags)
{
	struct uring_zc *u = s->state;
	struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);

	u->message = (struct msghdr){.msg_iov = iov, .msg_iovlen = count};
	if (count == 1)
		io_uring_prep_send_zc(sqe, s->fd, iov->iov_base, iov->iov_len, (int)flags,
				      u->usage);
	else
		io_uring_prep_sendmsg_zc(sqe, s->fd, &u->message, flags);
	sqe->ioprio |= (uint16_t)u->usage;
	sqe->user_data = u->pool.turn;
	u->awaited = 1;
}

/* More follows but for the last field: the kernel need not send each by itself. */
static void add_fields(struct sender *s, const struct iovec *iov, unsigned int count,
		       unsigned int flags)
{
	struct uring_zc *u = s->state;

	for (unsigned int i = 0; i < count; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);
		bool last = i + 1 == count;

		io_uring_prep_send_zc_fixed(sqe, s->fd, iov[i].iov_base, iov[i].iov_len,
					    (int)(flags | (last ? 0 : MSG_MORE)), u->usage, 0);
		sqe->flags |= last ? 0 : IOSQE_IO_LINK;
		sqe->user_data = u->pool.turn;
	}
	u->awaited = count;
}

/* Submits what is left of a message, and awaits what becomes of it: bytes, or -errno. */
static ssize_t send_fields(struct sender *s, struct iovec *iov, unsigned int count)
{
	struct uring_zc *u = s->state;
	unsigned int flags = MSG_NOSIGNAL | MSG_WAITALL | (unsigned int)s->flags;
	int err;

	u->taken = 0;
	u->err = 0;
	if (u->registered)
		add_fields(s, iov, count, flags);
	else
		add_message(s, iov, count, flags);
	do
		err = io_uring_submit_and_wait(&u->ring, 1);
	while (err == -EINTR);
	if (err < 0)
		return failure__set(&s->failure, STATUS_FAILED, err, "io_uring_enter: %s",
				    strerror(-err));
	for (err = 0; !err && u->awaited;)
		err = uring_zc__await(s, 0);
	if (err)
		return err;
	return u->taken || !u->err ? (ssize_t)u->taken : u->err;
}

/* The kernel refused: something it accounts for is used up, by us or by others. */
static int relieve(struct sender *s, uint64_t *refused_since)
{
	struct uring_zc *u = s->state;

	s->sent.zerocopy.enobufs++;
	if (u->in_flight > u->failing) {
		*refused_since = 0;
		return uring_zc__await(s, 0);
	}
	/* What failed is notified of, too, and frees nothing. */
	while (u->failing) {
		int err = uring_zc__await(s, 0);

		if (err)
			return err;
	}
	return sender__wait_refused(s, refused_since, " by io_uring", strerrorname_np(-u->err), "");
}

static int send_message(struct sender *s, struct message *m)
{
	struct iovec *iov = m->fields;
	unsigned int count = m->count;
	uint64_t refused_since = 0;
	size_t done = 0;

	while (done < m->bytes) {
		ssize_t n = send_fields(s, iov, count);
		int err = 0;

		if (n == -ENOBUFS || n == -ENOMEM)
			err = relieve(s, &refused_since);
		else if (n < 0 && n != -EINTR)
			err = (int)n;
		if (err)
			return err;
		done += n > 0 ? (size_t)n : 0;
		iov = message__rest(m, done, &count);
	}
	return 0;
}

static always_inline bool must_wait(const struct uring_zc *u)
{
	return u->reuse_early ? u->in_flight >= u->depth : u->pending[u->pool.turn];
}

static always_inline int send_one(struct sender *s, enum send_mode mode)
{
	struct uring_zc *u = s->state;
	struct message *m = pool__next(&u->pool);
	int err = 0;

	uring_zc__take(s);
	while (!err && must_wait(u))
		err = uring_zc__await(s, 0);
	if (err)
		return err;
	prepare(s, m, mode);
	err = send_message(s, m);
	pool__advance(&u->pool);
	return err;
}

SEND_RUNS(send_one);

static int settle(struct sender *s)
{
	struct uring_zc *u = s->state;
	uint64_t until = now_ns() + SETTLE_NS;
	int err = 0;

	s->sent.zerocopy.copied_unknown = !u->usage;
	while (!err && u->in_flight)
		err = uring_zc__await(s, until);
	return err ? sender__missing(s, err, u->in_flight,
				     "notifications of zero-copy sends by io_uring")
		   : 0;
}

const struct send_ops send_uring_zc = {
	.name = "uring_zc",
	.summary = "io_uring zero-copy send of the fields, notifications awaited",
	.flags = SEND_ZEROCOPY | SEND_SHARES | SEND_URING | SEND_REGISTERS,
	.probe = probe,
	.setup = setup,
	.teardown = teardown,
	.runs = runs,
	.run_paced = run_paced,
	.settle = settle,
};
