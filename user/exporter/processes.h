/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What processes sent, by name, as long as the exporter runs. The first names, largest first, stay
 * named; all others together are the rest, and so is a process that is called "other". The groups
 * of processes that have gone are added up and removed: their room is for others.
 */
#pragma once

#include "user/options/options.h"
#include "user/trace/tracer.h"

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
