/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The fields' pages go into a pipe by vmsplice(), and from there to the socket by
 * splice(): none is copied, and none may be written to before the receiver has it
 * (pool.h). What the pipe does not hold at once takes several rounds.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "loadgen/send/pool.h"
#include "loadgen/send/send_loop.h"
#include "loadgen/send/send_ops.h"

struct pipeline {
	struct borrowed borrowed; /* first: what borrowed__setup() takes */
	int in, out;
};

static int setup(struct sender *s, const struct load *load)
{
	struct pipeline *p = s->state;
	int ends[2], err;

	if (pipe2(ends, O_CLOEXEC))
		return failure__set(
			&s->failure, STATUS_FAILED, -errno,
			"cannot make a pipe: %m; give fewer --threads, or raise the limit "
			"(ulimit -n)");
	p->out = ends[0];
	p->in = ends[1];
	fcntl(p->in, F_SETPIPE_SZ, POOL_PIPE_BYTES);
	err = borrowed__setup(s, load);
	if (err) {
		close(p->in);
		close(p->out);
	}
	return err;
}

static void teardown(struct sender *s)
{
	struct pipeline *p = s->state;

	close(p->in);
	close(p->out);
	borrowed__teardown(s);
}

/* Everything that is in the pipe. */
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

static int send_message(struct sender *s, struct message *m)
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

static always_inline int send_one(struct sender *s, enum send_mode mode)
{
	struct pipeline *p = s->state;
	struct message *m = pool__next(&p->borrowed.pool);
	int err = borrowed__await(&p->borrowed, s);

	if (err)
		return err;
	prepare(s, m, mode);
	err = send_message(s, m);
	borrowed__sent(&p->borrowed);
	return err;
}

SEND_RUNS(splice, send_one);

const struct send_ops send_splice = {
	.name = "splice",
	.flags = SEND_SHARES | SEND_BORROWS,
	.state_bytes = sizeof(struct pipeline),
	.setup = setup,
	.teardown = teardown,
	.runs = splice_runs,
};
