/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * As onecopy, by io_uring: one operation a message, submitted and awaited by one
 * system call, because a stream takes one send after the other.
 */
#include <string.h>

#include "loadgen/send/ring.h"
#include "loadgen/send/send_copied.h"
#include "loadgen/send/send_ops.h"

struct uring {
	struct copied copied; /* first: what fields__send_one() takes */
	struct io_uring ring;
	struct msghdr message;
};

static int probe(const struct load *load, char *why, size_t room)
{
	(void)load;
	return ring__probe(IORING_OP_SEND, "sends (since Linux 5.6)", why, room);
}

static int setup(struct sender *s, const struct load *load)
{
	struct uring *u = s->state;
	int err = ring__open(&u->ring, 4, 8, &s->failure);

	if (err)
		return err;
	err = copied__setup(s, load);
	if (err)
		io_uring_queue_exit(&u->ring);
	return err;
}

static void teardown(struct sender *s)
{
	struct uring *u = s->state;

	io_uring_queue_exit(&u->ring);
	copied__teardown(s);
}

/* As sender__sendmsg(): bytes taken, or a negative errno. */
static ssize_t send_fields(struct sender *s, struct iovec *iov, unsigned int count)
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
		return failure__set(&s->failure, STATUS_FAILED, err, "io_uring_enter: %s",
				    strerror(-err));
	err = cqe->res;
	io_uring_cqe_seen(&u->ring, cqe);
	errno = err < 0 ? -err : 0;
	return sender__account(s, err < 0 ? -1 : err);
}

static always_inline int send_one(struct sender *s, enum send_mode mode)
{
	return fields__send_one(s, mode, send_fields);
}

SEND_RUNS(uring, send_one);

const struct send_ops send_uring = {
	.name = "uring",
	.flags = SEND_URING,
	.probe = probe,
	.state_bytes = sizeof(struct uring),
	.setup = setup,
	.teardown = teardown,
	.runs = uring_runs,
};
