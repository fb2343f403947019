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

struct processes;

/* Names at most so many; room: for how many groups the kernel has it. NULL when out of memory. */
struct processes *processes__new(size_t top, size_t room);
void processes__free(struct processes *p);
/* Reads what was counted so far. 0 or -errno. */
int processes__read(struct processes *p, struct tracer *tracer, const struct group *rest);
/* One of the names, then the rest; NULL past it. */
const char *processes__get(const struct processes *p, size_t i, struct group *sums);
