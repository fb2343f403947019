/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs a plan, and keeps what came of each run in a folder; what the folder has
 * already is not run again.
 */
#ifndef SENDPATH_SWEEP_H
#define SENDPATH_SWEEP_H

#include "user/sweep/grid.h"

/*
 * The plan is made of the loads of all parts, which have the other options in common;
 * grid->options are those of the first. Returns the exit status: 1 if a run failed,
 * ever; 3 if all were skipped. Ends early on SIGINT, SIGTERM and SIGHUP;
 * signals__caught then tells which.
 */
int sweep__run(const struct grid *grid, const struct options *parts, size_t count);

#endif
