/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "loadgen/send/sender.h"

#define REFUSAL_PATIENCE_NS 1000000000ULL /* while other threads may hold what is short */

ssize_t sender__account(struct sender *s, ssize_t n)
{
	s->sent.calls++;
	if (n >= 0) {
		s->sent.bytes += (uint64_t)n;
		return n;
	}
	n = -errno;
	s->sent.errors[-n < ERRNO_LIMIT ? -n : 0]++;
	return n;
}

ssize_t sender__send(struct sender *s, const void *data, size_t length)
{
	return sender__account(s, send(s->fd, data, length, MSG_NOSIGNAL | s->flags));
}

ssize_t sender__write(struct sender *s, const void *data, size_t length)
{
	return sender__account(s, write(s->fd, data, length));
}

ssize_t sender__writev(struct sender *s, struct iovec *iov, unsigned int count)
{
	return sender__account(s, writev(s->fd, iov, (int)count));
}

ssize_t sender__sendmsg(struct sender *s, struct iovec *iov, unsigned int count, int flags)
{
	struct msghdr m = {.msg_iov = iov, .msg_iovlen = count};

	return sender__account(s, sendmsg(s->fd, &m, MSG_NOSIGNAL | s->flags | flags));
}

int sender__wait_refused(struct sender *s, uint64_t *since, const char *by, const char *error,
			 const char *remedy)
{
	uint64_t now = now_ns();

	if (!*since)
		*since = now;
	if (now - *since >= REFUSAL_PATIENCE_NS)
		return failure__set(&s->failure, STATUS_SYSTEM, -ENOBUFS,
				    "zero-copy sends%s are refused (%s) with none in flight: raise "
				    "%sthe locked-memory limit (ulimit -l) above the size of a "
				    "message",
				    by, error, remedy);
	poll(NULL, 0, 1); /* nothing of ours will wake us */
	return 0;
}

int sender__missing(struct sender *s, int err, uint32_t count, const char *what)
{
	return failure__set(&s->failure, STATUS_FAILED, err, "%u %s are missing (%s)", count, what,
			    err == -ETIMEDOUT ? "after 10 s" : "the connection broke");
}
