/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The memory system while a window is open, of the whole machine: what --memory asks
 * for. The uncore's events by perf; where there are none, what can be said is less.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* What this machine has; for all runs of a command. */
struct memory;

/*
 * Looks: in sysfs, and at what perf knows. 0, or -errno with the reason in words;
 * -ENOENT: perf is missing.
 */
int memory__open(struct memory **m, char *why, size_t room);
void memory__free(struct memory *m);

/* Of one run. */
struct memory_run {
	const struct memory *memory; /* NULL: not asked for */
	struct perf_stat *perf;
	bool counted;
	char *text;	     /* that perf wrote, once it has ended; to be freed */
	char reason[256];    /* unless counted */
	char io_reason[256]; /* why the events of devices were left out; or empty */
};

/* Before the window; what fails here is the run's reason, not its end. */
void memory__begin(struct memory_run *r, const struct memory *m);
/* At its beginning and end. */
void memory__count(struct memory_run *r, bool on);
/* After it; also where it never came. */
void memory__end(struct memory_run *r);

/* The i-th event that perf is asked for, as its -e has it; NULL: there are no more. */
const char *memory__asked(const struct memory *m, size_t i);
/* Bytes of a line of the last-level cache, 0 if unknown. */
unsigned int memory__line(const struct memory *m);

/*
 * perf (package linux-perf) as a child: it knows scales, units and boxes of the uncore's events.
 * Counts the whole system while enabled.
 */
struct perf_stat;

/*
 * All that "perf list" names, blanks between; *names is to be freed. 0, -ENOENT where
 * there is no perf, or another -errno.
 */
int perf_stat__list(char **names);

/*
 * Starts it on a list of events, counting nothing yet. 0, or -errno with the reason in
 * words, perf's own if it said one.
 */
int perf_stat__start(struct perf_stat **p, const char *events, char *why, size_t room);
/* Starts and ends counting; returns when it is done. 0 or -errno. */
int perf_stat__count(struct perf_stat *p, int on);
/* Ends it; what it wrote, to be freed, or NULL. */
char *perf_stat__finish(struct perf_stat *p);
