/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A stop must end a phase even if the receiver stopped reading and all workers
 * are blocked in it. A slow one is not a stuck one: only when nothing at all
 * arrived for a while after the end are the connections shut down.
 */
#include <errno.h>
#include <poll.h>

#include "loadgen/run/phase.h"

#define GRACE_NS 2000000000ULL

enum { PARKED, CONTROL, RECEIVER, EVENTS };

struct patience {
	uint64_t end_ns; /* of the phase proper */
	uint64_t progress_ns;
	uint64_t received;
	bool abandoned;
};

static uint64_t received(const struct phase *p)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < p->slot_count; i++)
		sum += atomic_load(&p->slots[i].received);
	return sum;
}

/* When to look again; -1: only when something happens. */
static int timeout_ms(const struct patience *w, uint64_t now)
{
	uint64_t wait;

	if (w->end_ns == PHASE_FOREVER)
		return -1;
	wait = w->end_ns > now ? w->end_ns - now : GRACE_NS / 4;
	/* poll takes an int: a long phase is waited for in several turns */
	return wait > 1000000000000ULL ? 1000000 : (int)(wait / 1000000 + 1);
}

static void stop(struct phase *p, struct patience *w)
{
	p->stopped = true;
	crew__stop(p->crew);
	w->end_ns = w->progress_ns = now_ns();
}

static void bury_receiver(struct phase *p, struct patience *w, struct failure *f)
{
	p->receiver_dead = true;
	receiver__died(p->receiver, f);
	crew__abandon(p->crew);
	stop(p, w);
	w->abandoned = true;
}

/* The time is up, but not all are parked: is anything still moving? */
static void lose_patience(struct phase *p, struct patience *w, struct failure *f)
{
	uint64_t now = now_ns(), sum = received(p);

	if (now < w->end_ns)
		return;
	if (sum != w->received || w->progress_ns < w->end_ns) {
		w->received = sum;
		w->progress_ns = now;
	}
	if (now - w->progress_ns < GRACE_NS || w->abandoned || crew__delivered(p->crew))
		return;
	w->abandoned = true;
	failure__set(f, STATUS_FAILED, -ETIMEDOUT,
		     "the receiver read nothing for %llu s after the end: its connections were "
		     "shut down",
		     (unsigned long long)(GRACE_NS / 1000000000));
	crew__abandon(p->crew);
}

int phase__wait(struct phase *p, uint64_t deadline_ns, struct failure *f)
{
	struct patience w = {.end_ns = deadline_ns ? deadline_ns : now_ns()};
	struct pollfd events[EVENTS] = {
		[PARKED] = {.fd = crew__fd(p->crew), .events = POLLIN},
		[CONTROL] = {.fd = control__fd(p->control), .events = POLLIN},
		/* no events: hang-up alone, as workers talk to it */
		[RECEIVER] = {.fd = p->receiver_dead ? -1 : receiver__fd(p->receiver)},
	};

	for (;;) {
		int n = poll(events, EVENTS, timeout_ms(&w, now_ns()));
		int err = 0;

		if (n < 0 && errno != EINTR)
			return failure__set(f, STATUS_FAILED, -errno, "poll: %m");
		if (n > 0 && events[RECEIVER].revents) {
			bury_receiver(p, &w, f);
			events[RECEIVER].fd = -1;
		}
		if (n > 0 && events[PARKED].revents) {
			crew__acknowledge(p->crew);
			return 0;
		}
		if (n > 0 && events[CONTROL].revents) {
			err = control__read(p->control, f);
			if (err == CONTROL_STOP)
				stop(p, &w);
			else if (err > 0)
				err = failure__set(f, STATUS_FAILED, -EPROTO,
						   "the driver sent message %d within a phase",
						   err);
		}
		if (err < 0)
			return err;
		lose_patience(p, &w, f);
	}
}
