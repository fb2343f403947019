/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loadgen/send/ring.h"

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
