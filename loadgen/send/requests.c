/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "loadgen/send/requests.h"
#include "loadgen/send/sender.h"

#define LOOK_US 100000 /* how long a phase's end may go unseen, where nobody asks */

/*
 * Not poll(): it would return at once while completions wait in the error queue, which
 * the variant reads when it sends.
 */
int requests__setup(struct sender *s)
{
	struct timeval t = {.tv_usec = LOOK_US};

	return setsockopt(s->fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)) ? -errno : 0;
}

/* 1: there is a request; 0: not yet; or -errno. */
static int hear(struct sender *s, struct requests *r)
{
	char request[REQUEST_BYTES];
	ssize_t n;

	if (r->read == REQUEST_BYTES)
		return 1;
	n = recv(s->fd, request, REQUEST_BYTES - r->read, 0);
	if (!n)
		return -EPIPE;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	r->read += (unsigned int)n;
	return r->read == REQUEST_BYTES;
}

int requests__answer(struct sender *s, struct requests *r, int (*run)(struct sender *s))
{
	uint64_t left = s->remaining;
	int err;

	while (left && now_ns() < atomic_load_explicit(&s->deadline_ns, memory_order_relaxed)) {
		err = hear(s, r);
		if (err < 0)
			return err;
		if (!err)
			continue;
		s->remaining = 1;
		err = run(s);
		if (err)
			return err;
		if (s->remaining) /* the deadline came first: the request stays */
			continue;
		r->read = 0;
		left--;
	}
	return 0;
}
