/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Measures the memory system of the whole machine while a window is open (--memory): uncore events
 * counted by perf, or an estimate if there are none.
 */
#pragma once

#include "common/program.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

/* The events that this machine can count, for all runs of a command. */
struct memory;

/* Finds the events in sysfs and by perf list. 0 or -errno. */
int memory__open(struct memory **m, struct failure *f);
void memory__free(struct memory *m);

/* The memory system during one run. */
struct memory_run {
	const struct memory *memory; /* NULL: not requested */
	struct perf_stat *perf;
	bool counted;
	char *text;	     /* perf's output when it has ended; to be freed */
	char reason[256];    /* why nothing was counted */
	char io_reason[256]; /* why the events of devices were left out; or empty */
};

/* Starts perf, before the window. A failure becomes the run's reason, and does not end the run. */
void memory__begin(struct memory_run *r, const struct memory *m);
/* Starts or stops counting, when the window opens or closes. */
void memory__count(struct memory_run *r, bool on);
/* Ends perf and keeps its text. Called after the window, or if there was none. */
void memory__end(struct memory_run *r);

/* Returns whether this machine has any of the events. */
bool memory__has_events(const struct memory *m);
/* Returns the block "memory" of the raw line; NULL: not requested. */
json_object *memory__json(const struct memory_run *r);

/*
 * perf (package linux-perf) as a child, because perf has the scales, units and boxes of uncore
 * events. It counts the whole system while enabled.
 */
struct perf_stat;

/*
 * Returns 0 and all names of "perf list", separated by blanks, to be freed; -ENOENT without perf;
 * or another -errno.
 */
int perf_stat__list(char **names);

/*
 * Starts perf on a list of events, without counting yet. Returns 0; or -errno and, unless out of
 * memory, writes the reason to why: perf's own message if there is one.
 */
int perf_stat__start(struct perf_stat **p, const char *events, char *why, size_t room);
/* Starts or stops counting; returns when perf has confirmed it. 0 or -errno. */
int perf_stat__count(struct perf_stat *p, int on);
/* Ends perf. Returns its output, to be freed, or NULL. */
char *perf_stat__finish(struct perf_stat *p);
