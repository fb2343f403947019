/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs a grid: variants x sizes x threads, its repeats interleaved (A B C A B C),
 * each record reported as its run ends.
 */
#ifndef SENDPATH_GRID_H
#define SENDPATH_GRID_H

#include "options.h"
#include "report.h"

#define REPORTS_MAX 4

struct grid {
	const struct options *options;
	const struct features *features;
	const struct host *host;
	const struct counter_events *events;
	const struct counter_events *call_counters;
	struct report reports[REPORTS_MAX];
	size_t report_count;
};

/*
 * Returns the exit status. Ends early on SIGINT or SIGTERM, after reporting what
 * was measured; grid__signal then tells which.
 */
int grid__run(struct grid *grid);
int grid__signal(void);

#endif
