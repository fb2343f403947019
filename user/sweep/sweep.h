/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Many runs. A sweep runs a plan, and keeps what came of each run in a folder; what the
 * folder has already is not run again. A grid is a sweep without a folder: its cells in
 * the order of the lists, repeats interleaved (A B C A B C), each record reported as its
 * run ends.
 */
#pragma once

#include "user/options/options.h"
#include "user/report/report.h"
#include "user/run/run.h"
#include "user/system/deriver.h"

#define REPORTS_MAX 4

struct grid {
	const struct options *options;
	struct run_setup setup; /* what all runs have in common: all but the load and the tick */
	const struct host *host;
	struct deriver *deriver;
	struct report reports[REPORTS_MAX];
	size_t report_count;
};

/*
 * Returns the exit status. Ends early on SIGINT or SIGTERM, after reporting what
 * was measured; signals__caught then tells which. An observation is a grid of one
 * run; of a command the exit status is its own.
 */
int grid__run(struct grid *grid);

/*
 * The plan is made of the loads of all parts, which have the other options in common;
 * grid->options are those of the first. Returns the exit status: 1 if a run failed,
 * ever; 3 if all were skipped. Ends early on SIGINT, SIGTERM and SIGHUP;
 * signals__caught then tells which.
 */
int sweep__run(struct grid *grid, const struct options *parts, size_t count);
