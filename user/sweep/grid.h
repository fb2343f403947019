/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs a grid: variants x sizes x threads, its repeats interleaved (A B C A B C),
 * each record reported as its run ends.
 */
#ifndef SENDPATH_GRID_H
#define SENDPATH_GRID_H

#include "user/options/options.h"
#include "user/report/report.h"
#include "user/run/run.h"
#include "user/system/child.h"

#define REPORTS_MAX 4

struct grid {
	const struct options *options;
	const struct features *features;
	const struct host *host;
	struct child *child; /* the command to observe, not yet let run; or NULL */
	const struct counter_events *events;
	const struct counter_events *call_counters;
	const struct memory *memory; /* what of the memory system can be counted; or NULL */
	struct live *live;	     /* lines while a window is open; or NULL */
	struct report reports[REPORTS_MAX];
	size_t report_count;
};

/*
 * Returns the exit status. Ends early on SIGINT or SIGTERM, after reporting what
 * was measured; signals__caught then tells which. An observation is a grid of one
 * run; of a command the exit status is its own.
 */
int grid__run(struct grid *grid);

/* What all runs of a command have in common: all but the load and the tick. */
struct run_setup grid__setup(const struct grid *grid);

#endif
