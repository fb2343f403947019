/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waits for a phase to end, whatever happens meanwhile. A stop must end it even if the
 * receiver stopped reading and all workers are blocked in it. A slow one is not a stuck
 * one: it is given up when nothing at all arrived for a while after the end, and in any
 * case when too long has passed since. A process that somebody stopped is given up, too.
 */
#include <errno.h>
#include <poll.h>

#include "loadgen/run/run.h"

enum { WORKERS, CONTROL, OTHER, EVENTS };

#define LOOK_MS	   500
#define STOPPED_NS 5000000000ULL

struct patience {
	uint64_t end_ns; /* of the phase proper */
	uint64_t progress_ns;
	uint64_t received;
	uint64_t stopped_ns; /* since when the other end is seen stopped; 0: it is not */
	bool abandoned;
};

static int timeout_ms(const struct patience *w, uint64_t now)
{
	uint64_t wait = w->end_ns > now ? w->end_ns - now : LOOK_MS * 1000000ULL;

	return wait < LOOK_MS * 1000000ULL ? (int)(wait / 1000000 + 1) : LOOK_MS;
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

static void give_up(struct run *run, struct patience *w, const char *why)
{
	if (w->abandoned || (run->ops->delivered && run->ops->delivered(run)))
		return;
	run->given_up = why;
	run->ops->abandon(run);
	w->abandoned = true;
}

/* The time is up, but not all threads wait: is anything still moving? */
static void give_up_if_stuck(struct run *run, struct patience *w)
{
	uint64_t now = now_ns(), sum = run->ops->received ? run->ops->received(run) : 0;

	if (now < w->end_ns)
		return;
	if (sum != w->received || w->progress_ns < w->end_ns) {
		w->received = sum;
		w->progress_ns = now;
	}
	if (run->ops->received && now - w->progress_ns >= GRACE_NS)
		give_up(run, w, "the receiver read nothing for 2 s after the end");
	if (now - w->end_ns >= DRAIN_NS)
		give_up(run, w, "the other end was not done 6 s after the end");
}

/* A debugger, or a shell's stop: for a moment it is nobody's concern. */
static void give_up_if_stopped(struct run *run, struct patience *w, struct failure *f)
{
	uint64_t now = now_ns();

	if (run->dead || !child__is_stopped(&run->other)) {
		w->stopped_ns = 0;
		return;
	}
	if (!w->stopped_ns)
		w->stopped_ns = now;
	if (!w->abandoned && now < w->end_ns && now - w->stopped_ns < STOPPED_NS)
		return;
	failure__set(f, STATUS_FAILED, -ETIMEDOUT, "the %s process was stopped by a signal",
		     run->other.name);
	stop(run, w);
	give_up(run, w, "");
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
	struct patience w = {.end_ns = deadline_ns ? deadline_ns : now_ns()};
	struct pollfd events[EVENTS] = {
		[WORKERS] = {.fd = run->barrier.fd, .events = POLLIN},
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
			barrier__acknowledge(&run->barrier);
			return 0;
		}
		if (n > 0 && events[CONTROL].revents)
			err = read_control(run, &w, f);
		if (err)
			return err;
		give_up_if_stopped(run, &w, f);
		give_up_if_stuck(run, &w);
	}
}
