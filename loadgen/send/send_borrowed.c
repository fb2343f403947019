// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * sendfile: the kernel sends the pages of a file, which is in memory or in a given folder. A
 * message is one piece of the file, as in a file server. splice: the kernel sends the pages of the
 * fields. Neither copies. The pages must not be written to before the receiver has read them.
 */
#include <fcntl.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "loadgen/load.h"
#include "loadgen/send/pool.h"
#include "loadgen/send/send_loop.h"
#include "loadgen/send/send_ops.h"

/*
 * Messages whose pages the kernel borrows without ever reporting that it is done: those sent by
 * splice() or sendfile(). An acknowledgement is not enough, because on one machine the receiver's
 * queue still holds the same pages. A message is reused once the receiving program has read all of
 * it, which its slot shows (slot.h); a later retransmission is dropped unread.
 */
struct borrowed {
	struct pool pool;
	uint64_t total; /* bytes sent since the connection began */
	bool reuse_early;
};

/* Sets up a variant whose state begins with a struct borrowed. */
static int borrowed_setup(struct sender *s, const struct load *load)
{
	struct borrowed *l = s->state;

	l->reuse_early = load->reuse_early;
	return pool__create(&l->pool, s, load, pool__depth(load));
}

static void borrowed_teardown(struct sender *s)
{
	struct borrowed *l = s->state;

	pool__destroy(&l->pool);
}

/*
 * Waits until the next message may be written to: until the receiver has read everything except the
 * messages that were sent since. Returns -EPIPE if it never will.
 */
static inline int await_receiver(struct borrowed *l, struct sender *s)
{
	uint64_t since = (l->pool.count - 1) * pool__next(&l->pool)->bytes;
	uint64_t end = l->total > since ? l->total - since : 0;

	if (l->reuse_early || atomic_load(&s->slot->received) >= end)
		return 0;
	return slot__await(s->slot, end);
}

static always_inline int borrowed__send_one(struct sender *s, enum send_mode mode,
					    int (*send)(struct sender *s, struct message *m))
{
	struct borrowed *l = s->state;
	struct message *m = pool__next(&l->pool);
	int err = await_receiver(l, s);

	if (err)
		return err;
	prepare(s, m, mode);
	err = send(s, m);
	l->total += m->bytes;
	pool__advance(&l->pool);
	return err;
}

static int send_file(struct sender *s, struct message *m)
{
	struct borrowed *l = s->state;
	const struct memory *file = pool__memory(&l->pool, s);
	off_t at = (char *)m->fields[0].iov_base - file->base;
	size_t left = m->bytes;

	while (left) {
		ssize_t n = sender__account(s, sendfile(s->fd, file->fd, &at, left));

		if (n == -EINTR)
			continue;
		if (n < 0)
			return (int)n;
		left -= (size_t)n;
	}
	return 0;
}

static always_inline int send_one_of_file(struct sender *s, enum send_mode mode)
{
	return borrowed__send_one(s, mode, send_file);
}

SEND_VARIANT(sendfile, send_one_of_file,
	     .flags = SEND_SHARES | SEND_BORROWS | SEND_FILE | SEND_FLAGLESS,
	     .state_bytes = sizeof(struct borrowed), .setup = borrowed_setup,
	     .teardown = borrowed_teardown);

/*
 * vmsplice() puts the pages of the fields into a pipe, splice() moves them to the socket. If the
 * pipe cannot hold all, this takes several rounds.
 */
struct pipeline {
	struct borrowed borrowed; /* first, because borrowed_setup() uses it */
	int in, out;
};

static int open_pipe(struct sender *s, const struct load *load)
{
	struct pipeline *p = s->state;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return failure__set(
			&s->failure, STATUS_FAILED, -errno,
			"cannot make a pipe: %m; give fewer --threads, or raise the limit "
			"(ulimit -n)");
	p->out = ends[0];
	p->in = ends[1];
	fcntl(p->in, F_SETPIPE_SZ, POOL_PIPE_BYTES);
	return borrowed_setup(s, load);
}

static void close_pipe(struct sender *s)
{
	struct pipeline *p = s->state;

	if (p->in) { /* the pipe exists */
		close(p->in);
		close(p->out);
	}
	borrowed_teardown(s);
}

/* Moves everything from the pipe to the socket. */
static int drain_pipe(struct sender *s, size_t left, bool more)
{
	struct pipeline *p = s->state;
	unsigned int flags = SPLICE_F_MOVE | (more || s->flags ? SPLICE_F_MORE : 0);

	while (left) {
		ssize_t n = sender__account(s, splice(p->out, NULL, s->fd, NULL, left, flags));

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return n ? (int)n : -EPIPE;
		left -= (size_t)n;
	}
	return 0;
}

static int splice_message(struct sender *s, struct message *m)
{
	struct pipeline *p = s->state;
	struct iovec *iov = m->fields;
	unsigned int count = m->count;
	size_t done = 0;
	int err;

	while (done < m->bytes) {
		ssize_t n = vmsplice(p->in, iov, count, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return failure__set(&s->failure, STATUS_FAILED, n ? -errno : -EIO,
					    "vmsplice: %m");
		done += (size_t)n;
		err = drain_pipe(s, (size_t)n, done < m->bytes);
		if (err)
			return err;
		iov = message__rest(m, done, &count);
	}
	return 0;
}

static always_inline int send_one_spliced(struct sender *s, enum send_mode mode)
{
	return borrowed__send_one(s, mode, splice_message);
}

SEND_VARIANT(splice, send_one_spliced, .flags = SEND_SHARES | SEND_BORROWS,
	     .state_bytes = sizeof(struct pipeline), .setup = open_pipe, .teardown = close_pipe);
