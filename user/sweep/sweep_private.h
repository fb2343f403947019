/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of a sweep share: its progress, its folder, the plan in it, its runs. */
#pragma once

#include "user/options/options.h"
#include "user/report/cells.h"
#include "user/sweep/sweep.h"
#include "user/sweep/sweep_plan.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

struct sweep_progress {
	size_t runs, before; /* of the whole sweep; done by earlier ones */
	double guess_s;	     /* of a run, until one has been timed */
	bool grid;	     /* no lines: what is reported tells */
	bool quiet;	     /* no bar: others write to the terminal */
	/* its own: */
	bool terminal, shown;
	size_t done, timed;
	double timed_s;
	char label[96];
	struct timespec begun;
};

/* A run begins; from now on tick may be called often. */
void sweep_progress__begin(struct sweep_progress *p, const char *label);
void sweep_progress__tick(struct sweep_progress *p);
/*
 * It ended: timed if it says how long such runs take. The word is what came of it,
 * for the line.
 */
void sweep_progress__end(struct sweep_progress *p, bool timed, const char *word);
/* Takes the bar away. */
void sweep_progress__clear(struct sweep_progress *p);

/* "3 h 5 min", "4 min 20 s", "12 s" */
const char *sweep_progress__left(double seconds, char text[32]);

struct sweep_folder {
	const char *dir;
	int fd;	  /* of the folder */
	int runs; /* of the file of records, locked */
	char path[4096];
};

/*
 * Takes the folder, making it if there is none, and settles the plan's seed: the one
 * in the plan file, if there is one. 0 or -errno, said on stderr; to be closed in any case.
 */
int sweep_folder__open(struct sweep_folder *f, struct sweep_plan *p, const struct options *o);

/*
 * Has each record that is there taken, oldest first; borrowed. A half-written last
 * line is put aside, and said. 0 or -errno, said on stderr.
 */
int sweep_folder__read(struct sweep_folder *f, void (*take)(void *context, json_object *record),
		       void *context);

/* Adds a record, durably. 0 or -errno, said on stderr. */
int sweep_folder__add(struct sweep_folder *f, json_object *record);

void sweep_folder__close(struct sweep_folder *f);

/* To be json_object_put; NULL when out of memory. */
json_object *sweep_plan_file__write(const struct sweep_plan *p, const struct options *o);

/*
 * Does an older one plan the same runs? The seed of the order counts only if it was
 * asked for; *seed is the older one's. false with how they differ in why.
 */
bool sweep_plan_file__same(json_object *older, json_object *newer, bool order_given, uint32_t *seed,
			   char *why, size_t room);

/* What came of a sweep's runs so far, those of earlier ones too, and the summary of it. */
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

struct sweep {
	struct grid *grid;
	struct sweep_plan plan;
	struct sweep_folder folder;
	struct sweep_totals totals;
	struct sweep_progress progress;
	struct run_setup setup;
	struct session session;
	size_t left; /* runs to be made */
	int status;  /* a grid's: the last that was not 0 */
	size_t number;
	size_t reported;  /* of a grid's runs */
	size_t elsewhere; /* earlier runs under another kernel */
};

/*
 * Makes all runs that are open yet, until a signal comes. 0, or -errno where a record
 * could not be kept, said on stderr.
 */
int sweep__run_blocks(struct sweep *s);
