/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Always on: an observation without end whose figures are read again and again, as metrics of
 * Prometheus.
 */
#pragma once

#include "user/exporter/exposition.h"
#include "user/options/options.h"
#include "user/run/host.h"
#include "user/run/run.h"

/* Until SIGINT, SIGTERM or SIGHUP comes. Returns the exit status. */
int exporter__run(const struct options *o, const struct measurement *setup,
		  const struct host *host);

/*
 * What processes sent, by name, as long as the exporter runs. The first names, largest first, stay
 * named; all others together are the rest, and so is a process that is called "other". The groups
 * of processes that have gone are added up and removed: their room is for others.
 */
#define PROCESSES_OTHER "other"

/* Sums of one name. */
struct named_group {
	char comm[COMM_MAX];
	struct group gone; /* of groups that were removed */
	struct group sums; /* with those that are there */
};

struct processes {
	size_t top;  /* names at most, up to TOP_MAX */
	size_t room; /* for how many groups the kernel has it */
	size_t seen; /* groups, by the last reading */
	bool crowded;
	struct tracer *tracer;		       /* while it reads */
	size_t count, found;		       /* names that stay; with those that a reading met */
	struct named_group names[TOP_MAX * 2]; /* these */
	struct named_group rest;
};

/* Reads what was counted so far; all but top and room are zero before. 0 or -errno. */
int processes__read(struct processes *p, struct tracer *tracer);

/* Of which counts each metric of analysis/tables/metrics.py is made. */
struct exported {
	const struct run_result *result; /* of an observation that goes on */
	const struct processes *processes;
	const char *kernel;	      /* its release */
	bool cost;		      /* the programs' own time is counted */
	__u64 cpu_ns, resident_bytes; /* the exporter's own */
	__u64 reading_ns;	      /* of these counts */
};

void metrics__write(struct exposition *e, const struct exported *from);
