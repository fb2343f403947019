/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What came of a sweep's runs so far, those of earlier ones too, and the summary of it. */
#pragma once

#include "user/report/cells.h"
#include "user/sweep/sweep_plan.h"

#include <stdio.h>

/* Of one run. What failed or was skipped can be run again: the later word holds. */
enum sweep_outcome { SWEEP_OPEN, SWEEP_MEASURED, SWEEP_FAILED, SWEEP_SKIPPED };

struct sweep_totals {
	const struct sweep_plan *plan;
	struct sweep_run {
		enum sweep_outcome outcome;
		char *error; /* unless measured; or NULL */
	} * runs;	     /* by cell, then block */
	struct cells cells;  /* of the measured, what the summary needs */
	size_t foreign;	     /* records of no run of the plan */
	size_t twice;	     /* of a run that was measured already */
	bool out_of_memory;
};

/* 0 or -ENOMEM. */
int sweep_totals__init(struct sweep_totals *t, const struct sweep_plan *plan);
void sweep_totals__free(struct sweep_totals *t);

/* Notes a record, of a run or of one that failed. */
void sweep_totals__note(struct sweep_totals *t, json_object *record);

/* What is known of a run; blocks count from 1. */
struct sweep_run *sweep_totals__run(const struct sweep_totals *t, size_t cell, unsigned int block);
size_t sweep_totals__count(const struct sweep_totals *t, enum sweep_outcome outcome);

/*
 * The summary, in the plan's order, then what failed or was skipped, and why. 0 or -errno.
 */
int sweep_totals__print(struct sweep_totals *t, FILE *out);
