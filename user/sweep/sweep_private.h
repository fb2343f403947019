/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What sweep.c (before the runs and after them) and sweep_runs.c share. */
#pragma once

#include "user/sweep/sweep.h"
#include "user/sweep/sweep_folder.h"
#include "user/sweep/sweep_progress.h"
#include "user/sweep/sweep_tally.h"

struct sweep {
	struct grid *grid;
	struct sweep_plan plan;
	struct sweep_folder folder;
	struct sweep_tally tally;
	struct sweep_progress progress;
	struct run_setup setup;
	size_t left; /* runs to be made */
	int status;  /* a grid's: the last that was not 0 */
	size_t number;
	size_t elsewhere; /* earlier runs under another kernel */
};

/* With what all runs of a command have in common: all but the load and the tick. */
struct sweep sweep__of(struct grid *grid);

/* Takes no more runs; what the grid or sweep reported or kept stays. */
void sweep__free(struct sweep *s);

/*
 * Makes all runs that are open yet, until a signal comes. 0, or -errno where a record
 * could not be kept, said on stderr.
 */
int sweep__run_blocks(struct sweep *s);
