/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <sys/prctl.h>
#include <time.h>

#include "loadgen/send/pacing.h"
#include "loadgen/send/sender.h"

#define SECOND_NS 1000000000ULL
#define AWAKE_NS  50000ULL
#define LOOK_NS	  (SECOND_NS / 10) /* how long a sleep may overlook that the phase ended */

uint64_t pacing__due(uint64_t number, uint64_t rate)
{
	return (uint64_t)((unsigned __int128)number * SECOND_NS / rate);
}

/* The first is due at 0. */
uint64_t pacing__count(uint64_t ns, uint64_t rate)
{
	return ns ? (uint64_t)(((unsigned __int128)ns * rate - 1) / SECOND_NS) + 1 : 0;
}

void pacing__begin(struct pacing *p, uint64_t rate)
{
	prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
	*p = (struct pacing){.begin_ns = now_ns(), .rate = rate};
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
