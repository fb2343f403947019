/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counters that the programs read at both ends of each send. A program can only
 * read a counter of the CPU it runs on, so each event is opened on every CPU.
 */
#pragma once

#include "user/trace/counters.h"

struct call_counters;

/*
 * Opens the events on all CPUs and puts them where the programs look: map_fd, a
 * perf event array. 0 and *out; or -errno with the reason in words.
 */
int call_counters__open(struct call_counters **out, const struct counter_events *events, int map_fd,
			char *reason, size_t size);
void call_counters__free(struct call_counters *c);

/*
 * The name of an event that would be 0 whatever happens, NULL if there is none: a send whose
 * thread lost its CPU is left out, because a CPU's counters then count others' work.
 */
const char *call_counters__always_zero(const struct counter_events *events);
