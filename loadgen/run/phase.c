/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waits for a phase to end, whatever happens meanwhile. A stop must end it even if the
 * receiver stopped reading and all workers are blocked in it. A slow one is not a stuck
 * one: only when nothing at all arrived for a while after the end is it given up.
 */
#include <errno.h>
#include <poll.h>

#include "loadgen/run/run.h"

enum { WORKERS, CONTROL, OTHER, EVENTS };

struct patience {
	uint64_t end_ns; /* of the phase proper */
	uint64_t progress_ns;
	uint64_t received;
	bool abandoned;
};

/* How long poll() may wait; -1: until something happens. */
static int timeout_ms(const struct patience *w, uint64_t now)
{
	uint64_t wait;

	if (w->end_ns == PHASE_FOREVER)
		return -1;
	wait = w->end_ns > now ? w->end_ns - now : GRACE_NS / 4;
	/* poll takes an int: a long phase is waited for in several turns */
	return wait > 1000000000000ULL ? 1000000 : (int)(wait / 1000000 + 1);
}

static void stop(struct run *run, struct patience *w)
{
	run->stopped = true;
	run->ops->stop(run);
	w->end_ns = w->progress_ns = now_ns();
}

static void abandon_dead(struct run *run, struct patience *w, struct failure *f)
{
	run->dead = true;
	child__explain_death(&run->other, f);
	run->ops->abandon(run);
	stop(run, w);
	w->abandoned = true;
}

/* The time is up, but not all threads wait: is anything still moving? */
static void abandon_if_stuck(struct run *run, struct patience *w, struct failure *f)
{
	uint64_t now = now_ns(), sum = run->ops->received ? run->ops->received(run) : 0;

	if (now < w->end_ns)
		return;
	if (sum != w->received || w->progress_ns < w->end_ns) {
		w->received = sum;
		w->progress_ns = now;
	}
	if (now - w->progress_ns < GRACE_NS || w->abandoned ||
	    (run->ops->give_up && !run->ops->give_up(run, f)))
		return;
	w->abandoned = true;
	run->ops->abandon(run);
}

static int read_control(struct run *run, struct patience *w, struct failure *f)
{
	int type = control__read(run->control, f);

	if (type == CONTROL_STOP)
		stop(run, w);
	else if (type > 0)
		return failure__set(f, STATUS_FAILED, -EPROTO,
				    "the driver sent message %d within a phase", type);
	return type < 0 ? type : 0;
}

int phase__wait(struct run *run, uint64_t deadline_ns, struct failure *f)
{
	struct patience w = {.end_ns = !deadline_ns	    ? now_ns()
				       : run->ops->received ? deadline_ns
							    : PHASE_FOREVER};
	struct pollfd events[EVENTS] = {
		[WORKERS] = {.fd = run->barrier->fd, .events = POLLIN},
		[CONTROL] = {.fd = control__fd(run->control), .events = POLLIN},
		/* no events: hang-up alone, as workers talk to it */
		[OTHER] = {.fd = run->dead ? -1 : run->other.channel},
	};

	for (;;) {
		int n = poll(events, EVENTS, timeout_ms(&w, now_ns())), err = 0;

		if (n < 0 && errno != EINTR)
			return failure__set(f, STATUS_FAILED, -errno, "poll: %m");
		if (n > 0 && events[OTHER].revents) {
			abandon_dead(run, &w, f);
			events[OTHER].fd = -1;
		}
		if (n > 0 && events[WORKERS].revents) {
			barrier__acknowledge(run->barrier);
			return 0;
		}
		if (n > 0 && events[CONTROL].revents)
			err = read_control(run, &w, f);
		if (err)
			return err;
		abandon_if_stuck(run, &w, f);
	}
}
