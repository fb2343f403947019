/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What else this machine did while a window was open: it is in all wall times and rates. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#define NOISE_UNKNOWN (-1.0)
/* Of all CPUs, what a window must have: shares are known in steps of ticks. */
#define NOISE_TICKS 10
#define NOISE_SIDES 2 /* processes whose waiting is told, such as a sender and a receiver */

/* Since boot, all CPUs together. */
struct cpu_ticks {
	unsigned long long busy; /* user and system */
	unsigned long long irq;	 /* hard and soft */
	unsigned long long steal, all;
};

/* Totals at one time; below 0: not known here. */
struct noise_totals {
	struct cpu_ticks ticks; /* all 0: not known */
	double pressure_s;	/* some task waited for a CPU (PSI) */
	double throttled;	/* times that CPUs were slowed down for their heat */
	double khz;		/* their mean frequency */
	double time_s;
	double ran_s[NOISE_SIDES], waited_s[NOISE_SIDES]; /* of threads that live then */
};

/* What came of two of them; NOISE_UNKNOWN: not known. */
struct noise {
	double all_s, busy_s; /* time of all CPUs, and of it user and system */
	double irq_share, steal_share, pressure_share;
	double throttled;
	double slowdown; /* of their frequency: 0.1: a tenth less in the end than in the beginning
			  */
	/* Of the time in which its threads could have run, what they waited for a CPU. */
	double waited_share[NOISE_SIDES];
};

/* The first line of /proc/stat. 0; -EINVAL if it is none, or of a kernel that does not tell. */
int cpu_ticks__parse(const char *line, struct cpu_ticks *ticks);

/* A pid of 0 is no process. */
void noise__read(struct noise_totals *now, const pid_t pids[NOISE_SIDES]);
struct noise noise__between(const struct noise_totals *from, const struct noise_totals *to);

/*
 * Waits, while nothing of ours runs, until others use little of the CPUs, at most so long or
 * until stop() says so. The share that they used in the end; NOISE_UNKNOWN: /proc/stat does not
 * tell.
 */
#define NOISE_QUIET 0.05
double noise__await_quiet(double most_s, bool (*stop)(void *context), void *context);
