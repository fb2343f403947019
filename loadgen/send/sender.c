/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <poll.h>
#include <sys/prctl.h>

#include "loadgen/send/send_loop.h"

#define SECOND_NS	    1000000000ULL
#define AWAKE_NS	    50000ULL
#define LOOK_NS		    (SECOND_NS / 10) /* longest sleep before the deadline is read again */
#define REFUSAL_PATIENCE_NS 1000000000ULL    /* others may free the memory by then */

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
	poll(NULL, 0, 1); /* nothing of ours is in flight that could wake us */
	return 0;
}

int sender__missing(struct sender *s, int err, uint32_t count, const char *what)
{
	return failure__set(&s->failure, STATUS_FAILED, err, "%u %s are missing (%s)", count, what,
			    err == -ETIMEDOUT ? "after 10 s" : "the connection broke");
}

uint64_t pacing__due(uint64_t number, uint64_t rate)
{
	return (uint64_t)((unsigned __int128)number * SECOND_NS / rate);
}

/* The first message is due at 0. */
uint64_t pacing__count(uint64_t ns, uint64_t rate)
{
	return ns ? (uint64_t)(((unsigned __int128)ns * rate - 1) / SECOND_NS) + 1 : 0;
}

void pacing__begin(struct pacing *p, uint64_t begin_ns, uint64_t rate)
{
	prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
	*p = (struct pacing){.begin_ns = begin_ns, .rate = rate};
}

static void sleep_until(uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / SECOND_NS), .tv_nsec = (long)(ns % SECOND_NS)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

bool pacing__await(struct pacing *p, const _Atomic uint64_t *deadline_ns)
{
	p->due_ns = p->begin_ns + pacing__due(p->number, p->rate);
	for (;;) {
		uint64_t now = now_ns(), deadline = atomic_load(deadline_ns), wait;

		if (now >= deadline) {
			p->end_ns = deadline ? deadline : now;
			return false;
		}
		if (now >= p->due_ns)
			break;
		wait = (p->due_ns < deadline ? p->due_ns : deadline) - now;
		if (wait > AWAKE_NS)
			sleep_until(now + (wait > LOOK_NS ? LOOK_NS : wait - AWAKE_NS));
	}
	p->number++;
	return true;
}

uint64_t pacing__end(const struct pacing *p, uint64_t remaining)
{
	uint64_t due =
		p->end_ns > p->begin_ns ? pacing__count(p->end_ns - p->begin_ns, p->rate) : 0;

	return remaining && due > p->number ? due : p->number;
}
