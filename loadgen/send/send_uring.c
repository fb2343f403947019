/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * As onecopy, by io_uring: one operation a message, submitted and awaited by one
 * system call, because a stream takes one send after the other.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loadgen/send/ring.h"
#include "loadgen/send/send_copied.h"
#include "loadgen/send/send_ops.h"

static const char *explain(int err)
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

int ring__open(struct io_uring *ring, unsigned int submissions, unsigned int completions,
	       struct failure *f)
{
	struct io_uring_params p = {.flags = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP,
				    .cq_entries = completions};
	int err = io_uring_queue_init_params(submissions, ring, &p);

	return err ? failure__set(f, err == -EMFILE ? STATUS_FAILED : STATUS_SYSTEM, err,
				  "io_uring: %s", explain(err))
		   : 0;
}

int ring__probe(int operation, const char *what, char *why, size_t room)
{
	struct io_uring_probe *probe;
	struct io_uring ring;
	int err = io_uring_queue_init(1, &ring, 0);

	if (err) {
		snprintf(why, room, "%s", explain(err));
		return err;
	}
	probe = io_uring_get_probe_ring(&ring);
	if (!probe || !io_uring_opcode_supported(probe, operation)) {
		snprintf(why, room, "this kernel's io_uring has no %s", what);
		err = -EOPNOTSUPP;
	}
	if (probe)
		io_uring_free_probe(probe);
	io_uring_queue_exit(&ring);
	return err;
}

/*
 * A send on a socket that is not connected fails in any case, but where the flag is
 * not known it fails for that reason.
 */
bool ring__reports_usage(struct io_uring *ring)
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

struct uring {
	struct copied copied; /* first: what fields__send_one() takes */
	struct io_uring ring;
	struct msghdr message;
};

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
	.operation = IORING_OP_SEND,
	.needs = "sends (since Linux 5.6)",
	.state_bytes = sizeof(struct uring),
	.setup = setup,
	.teardown = teardown,
	.runs = uring_runs,
};
