/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <unistd.h>

#include "loadgen/send/sender.h"
#include "loadgen/system/hist_stats.h"

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

void sent__add(struct sent *sum, const struct sent *one)
{
	sum->messages += one->messages;
	sum->due += one->due;
	sum->bytes += one->bytes;
	sum->calls += one->calls;
	sum->zerocopy.requests += one->zerocopy.requests;
	sum->zerocopy.completions += one->zerocopy.completions;
	sum->zerocopy.copied += one->zerocopy.copied;
	sum->zerocopy.enobufs += one->zerocopy.enobufs;
	sum->zerocopy.notifications += one->zerocopy.notifications;
	sum->zerocopy.copied_unknown |= one->zerocopy.copied_unknown;
	for (int i = 0; i < ERRNO_LIMIT; i++)
		sum->errors[i] += one->errors[i];
	hist__merge(&sum->latency, &one->latency);
}
