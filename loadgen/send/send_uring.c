// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The variants that send by io_uring. */
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loadgen/load.h"
#include "loadgen/send/send_copied.h"
#include "loadgen/send/send_ops.h"

/* The flag exists since Linux 6.2 (e307e6698165), so some headers lack it. */
#ifndef IORING_SEND_ZC_REPORT_USAGE
#define IORING_SEND_ZC_REPORT_USAGE  (1U << 3)
#define IORING_NOTIF_USAGE_ZC_COPIED (1U << 31)
#endif

static const char *explain_error(int err)
{
	if (err == -ENOSYS)
		return "this kernel has no io_uring";
	if (err == -EPERM)
		return "io_uring is not allowed here (see sysctl kernel.io_uring_disabled)";
	if (err == -ENOMEM)
		return "no memory for the ring: raise the locked-memory limit (ulimit -l)";
	if (err == -EMFILE)
		return "too many open files: give fewer --threads, or raise the limit (ulimit -n)";
	return strerror(-err);
}

/* Sets up a ring for this many submissions and completions. Returns 0 or a negative errno. */
static int open_ring(struct io_uring *ring, unsigned int submissions, unsigned int completions,
		     struct failure *f)
{
	struct io_uring_params p = {.flags = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP,
				    .cq_entries = completions};
	int err = io_uring_queue_init_params(submissions, ring, &p);

	return failure__set(f, err == -EMFILE ? STATUS_FAILED : STATUS_SYSTEM, err, "io_uring: %s",
			    explain_error(err));
}

/* Closes a ring, unless it is all zero: it was not set up. */
static void close_ring(struct io_uring *ring)
{
	if (ring->ring_fd)
		io_uring_queue_exit(ring);
}

int ring__probe(const struct send_ops *ops, char *why, size_t room)
{
	struct io_uring_probe *probe;
	struct io_uring ring;
	int err = io_uring_queue_init(1, &ring, 0);

	if (err) {
		snprintf(why, room, "--variant %s: %s", ops->name, explain_error(err));
		return err;
	}
	probe = io_uring_get_probe_ring(&ring);
	if (!probe || !io_uring_opcode_supported(probe, ops->operation)) {
		snprintf(why, room, "--variant %s: this kernel's io_uring has no %s", ops->name,
			 ops->needs);
		err = -EOPNOTSUPP;
	}
	if (probe)
		io_uring_free_probe(probe);
	io_uring_queue_exit(&ring);
	return err;
}

/*
 * Returns whether the kernel can report copies of zero-copy sends. A send on an unconnected socket
 * always fails, but with another error where the flag is unknown.
 */
static bool reports_usage(struct io_uring *ring)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
	struct io_uring_cqe *cqe;
	bool more = true, known = false;
	char byte = 0;

	io_uring_prep_send_zc(sqe, fd, &byte, 1, MSG_NOSIGNAL, IORING_SEND_ZC_REPORT_USAGE);
	sqe->user_data = 0;
	io_uring_submit(ring);
	while (more && !io_uring_wait_cqe(ring, &cqe)) {
		if (!(cqe->flags & IORING_CQE_F_NOTIF))
			known = cqe->res != -EINVAL;
		more = cqe->flags & IORING_CQE_F_MORE;
		io_uring_cqe_seen(ring, cqe);
	}
	close(fd);
	return known;
}

/*
 * Sends like onecopy, by io_uring: one operation per message, submitted and awaited by one system
 * call, because a stream sends one message after the other.
 */
struct uring {
	struct copied copied; /* first, because fields__send_one() uses it */
	struct io_uring ring;
	struct msghdr message;
};

static int set_up_copied(struct sender *s, const struct load *load)
{
	struct uring *u = s->state;
	int err = open_ring(&u->ring, 4, 8, &s->failure);

	return err ? err : copied__setup(s, load);
}

static void tear_down_copied(struct sender *s)
{
	struct uring *u = s->state;

	close_ring(&u->ring);
	copied__teardown(s);
}

/* Sends as sender__sendmsg() does: returns the bytes taken, or a negative errno. */
static ssize_t send_copied(struct sender *s, struct iovec *iov, unsigned int count)
{
	struct uring *u = s->state;
	struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);
	struct io_uring_cqe *cqe;
	int flags = MSG_NOSIGNAL | MSG_WAITALL | s->flags, err;

	if (count == 1) {
		io_uring_prep_send(sqe, s->fd, iov->iov_base, iov->iov_len, flags);
	} else {
		u->message = (struct msghdr){.msg_iov = iov, .msg_iovlen = count};
		io_uring_prep_sendmsg(sqe, s->fd, &u->message, (unsigned int)flags);
	}
	do
		err = io_uring_submit_and_wait(&u->ring, 1);
	while (err == -EINTR);
	while (err >= 0 && (err = io_uring_wait_cqe(&u->ring, &cqe)) == -EINTR)
		err = 0;
	if (err < 0)
		return failure__set(&s->failure, STATUS_FAILED, err, "io_uring_enter: %m");
	err = cqe->res;
	io_uring_cqe_seen(&u->ring, cqe);
	errno = err < 0 ? -err : 0;
	return sender__account(s, err < 0 ? -1 : err);
}

static always_inline int send_one_copied(struct sender *s, enum send_mode mode)
{
	return fields__send_one(s, mode, send_copied);
}

SEND_VARIANT(uring, send_one_copied, .operation = IORING_OP_SEND,
	     .needs = "sends (since Linux 5.6)", .state_bytes = sizeof(struct uring),
	     .setup = set_up_copied, .teardown = tear_down_copied);

/*
 * io_uring's own zero-copy sends. Each operation has a result, which is awaited, because a stream
 * sends one message after the other. It also has a notification when the kernel no longer uses the
 * memory; a message waits for it before it is reused. A message of scattered fields is one
 * operation; from registered buffers it is one linked operation per field, because before Linux
 * 6.15 an operation takes one buffer.
 */
#define LOOK_NS 100000000LL /* interval at which a wait checks whether it is futile */

struct uring_zc {
	struct io_uring ring;
	struct pool pool;
	struct msghdr message;
	uint32_t *pending;  /* message -> notifications to come */
	uint32_t *failed;   /* message -> notifications to come of failed operations */
	uint32_t in_flight; /* notifications to come, over all messages */
	uint32_t failing;   /* notifications to come of failed operations, over all messages */
	uint32_t depth;
	bool reuse_early, registered;
	unsigned int usage; /* the flag that requests reports of copies; 0: the kernel lacks it */
	/* The results of operations that were submitted together. */
	unsigned int awaited;
	size_t taken;
	int err;
};

static void tear_down_ring(struct sender *s)
{
	struct uring_zc *u = s->state;

	close_ring(&u->ring);
	pool__destroy(&u->pool);
	free(u->pending);
	free(u->failed);
}

static int register_memory(struct sender *s)
{
	struct uring_zc *u = s->state;
	const struct memory *m = pool__memory(&u->pool, s);
	struct iovec all = {m->base, m->bytes};
	int err = io_uring_register_buffers(&u->ring, &all, 1);

	return failure__set(&s->failure, STATUS_SYSTEM, err,
			    "--registered: %m: raise the locked-memory limit (ulimit -l) above "
			    "%zu bytes, at most 1 GiB",
			    m->bytes);
}

static int set_up_ring(struct sender *s, const struct load *load)
{
	struct uring_zc *u = s->state;
	uint32_t depth = pool__depth(load);
	int err;

	/* The kernel keeps notifications that the ring has no room for. */
	err = open_ring(&u->ring, load->registered ? load->fields : 4, 1024, &s->failure);
	if (err)
		return err;
	u->usage = reports_usage(&u->ring) ? IORING_SEND_ZC_REPORT_USAGE : 0;
	u->depth = load->inflight;
	u->reuse_early = load->reuse_early;
	u->registered = load->registered;
	u->pending = calloc(depth, sizeof(*u->pending));
	u->failed = calloc(depth, sizeof(*u->failed));
	err = u->pending && u->failed ? pool__create(&u->pool, s, load, depth) : -ENOMEM;
	return !err && u->registered ? register_memory(s) : err;
}

static void apply_notification(struct sender *s, const struct io_uring_cqe *cqe)
{
	struct uring_zc *u = s->state;
	uint64_t message = cqe->user_data;

	u->pending[message]--;
	u->in_flight--;
	if (u->failed[message]) {
		u->failed[message]--;
		u->failing--;
		return;
	}
	s->sent.zerocopy.notifications++;
	s->sent.zerocopy.completions++;
	if (u->usage && (uint32_t)cqe->res & IORING_NOTIF_USAGE_ZC_COPIED)
		s->sent.zerocopy.copied++;
}

/* Counts a result. A cancelled operation was linked to one that failed, and never began. */
static void apply_result(struct sender *s, const struct io_uring_cqe *cqe)
{
	struct uring_zc *u = s->state;

	u->awaited--;
	if (cqe->flags & IORING_CQE_F_MORE) {
		u->pending[cqe->user_data]++;
		u->failed[cqe->user_data] += cqe->res < 0;
		u->failing += cqe->res < 0;
		u->in_flight++;
	}
	if (cqe->res == -ECANCELED)
		return;
	s->sent.zerocopy.requests++;
	errno = cqe->res < 0 ? -cqe->res : 0;
	sender__account(s, cqe->res < 0 ? -1 : cqe->res);
	if (cqe->res >= 0)
		u->taken += (size_t)cqe->res;
	else if (!u->err)
		u->err = cqe->res;
}

static void apply_entry(struct sender *s, const struct io_uring_cqe *cqe)
{
	if (cqe->flags & IORING_CQE_F_NOTIF)
		apply_notification(s, cqe);
	else
		apply_result(s, cqe);
}

/*
 * Waits for a result or a notification, and applies it. Returns -ETIMEDOUT if none arrived in time
 * (until_ns 0: no limit), -ECANCELED if waiting is futile.
 */
static int await_entry(struct sender *s, uint64_t until_ns)
{
	struct uring_zc *u = s->state;
	struct __kernel_timespec look = {.tv_nsec = LOOK_NS};
	struct io_uring_cqe *cqe;
	int err;

	while ((err = io_uring_wait_cqe_timeout(&u->ring, &cqe, &look))) {
		if (err != -ETIME && err != -EINTR)
			return failure__set(&s->failure, STATUS_FAILED, err, "io_uring: %m");
		if (atomic_load(&s->abandoned))
			return -ECANCELED;
		if (until_ns && now_ns() >= until_ns)
			return -ETIMEDOUT;
	}
	apply_entry(s, cqe);
	io_uring_cqe_seen(&u->ring, cqe);
	return 0;
}

/* Applies waiting entries without a system call, so that the kernel keeps none. */
static void apply_all(struct sender *s)
{
	struct uring_zc *u = s->state;
	struct io_uring_cqe *cqe;

	while (!io_uring_peek_cqe(&u->ring, &cqe)) {
		apply_entry(s, cqe);
		io_uring_cqe_seen(&u->ring, cqe);
	}
}

static void prepare_message(struct sender *s, struct iovec *iov, unsigned int count,
			    unsigned int flags)
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

/* Prepares an operation per field; all but the last have MSG_MORE, so that TCP does not push. */
static void prepare_fields(struct sender *s, const struct iovec *iov, unsigned int count,
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

/* Submits the rest of a message and waits for its results. Returns the bytes sent or -errno. */
static ssize_t submit_fields(struct sender *s, struct iovec *iov, unsigned int count)
{
	struct uring_zc *u = s->state;
	unsigned int flags = MSG_NOSIGNAL | MSG_WAITALL | (unsigned int)s->flags;
	int err;

	u->taken = 0;
	u->err = 0;
	if (u->registered)
		prepare_fields(s, iov, count, flags);
	else
		prepare_message(s, iov, count, flags);
	do
		err = io_uring_submit_and_wait(&u->ring, 1);
	while (err == -EINTR);
	if (err < 0)
		return failure__set(&s->failure, STATUS_FAILED, err, "io_uring_enter: %m");
	for (err = 0; !err && u->awaited;)
		err = await_entry(s, 0);
	if (err)
		return err;
	return u->taken || !u->err ? (ssize_t)u->taken : u->err;
}

/* Handles a refused send: our sends or those of others have reached a limit. */
static int relieve_ring(struct sender *s, uint64_t *refused_since)
{
	struct uring_zc *u = s->state;

	s->sent.zerocopy.enobufs++;
	if (u->in_flight > u->failing) {
		*refused_since = 0;
		return await_entry(s, 0);
	}
	/* A failed operation has a notification, too; it frees no message. */
	while (u->failing) {
		int err = await_entry(s, 0);

		if (err)
			return err;
	}
	return sender__wait_refused(s, refused_since, " by io_uring", strerrorname_np(-u->err), "");
}

static int send_by_ring(struct sender *s, struct message *m)
{
	struct iovec *iov = m->fields;
	unsigned int count = m->count;
	uint64_t refused_since = 0;
	size_t done = 0;

	while (done < m->bytes) {
		ssize_t n = submit_fields(s, iov, count);
		int err = 0;

		if (n == -ENOBUFS || n == -ENOMEM)
			err = relieve_ring(s, &refused_since);
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

static always_inline int send_one_uring(struct sender *s, enum send_mode mode)
{
	struct uring_zc *u = s->state;
	struct message *m = pool__next(&u->pool);
	int err = 0;

	apply_all(s);
	while (!err && must_wait(u))
		err = await_entry(s, 0);
	if (err)
		return err;
	prepare(s, m, mode);
	err = send_by_ring(s, m);
	pool__advance(&u->pool);
	return err;
}

static int settle_ring(struct sender *s)
{
	struct uring_zc *u = s->state;
	uint64_t until = now_ns() + SETTLE_NS;
	int err = 0;

	s->sent.copied_unknown = !u->usage;
	while (!err && u->in_flight)
		err = await_entry(s, until);
	return sender__missing(s, err, u->in_flight,
			       "notifications of zero-copy sends by io_uring");
}

SEND_VARIANT(uring_zc, send_one_uring, .flags = SEND_ZEROCOPY | SEND_SHARES | SEND_REGISTERS,
	     .operation = IORING_OP_SENDMSG_ZC,
	     .needs = "zero-copy sends of scattered fields (since Linux 6.1)",
	     .state_bytes = sizeof(struct uring_zc), .setup = set_up_ring,
	     .teardown = tear_down_ring, .settle = settle_ring);
