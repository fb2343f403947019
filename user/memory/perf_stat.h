/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * perf (package linux-perf) as a child: it knows scales, units and boxes of the uncore's events.
 * Counts the whole system while enabled.
 */
#pragma once

#include <stddef.h>

struct perf_stat;

/*
 * All that "perf list" names, blanks between; *names is to be freed. 0, -ENOENT where
 * there is no perf, or another -errno.
 */
int perf_stat__list(char **names);

/*
 * Starts it on a list of events, counting nothing yet. 0, or -errno with the reason in
 * words, perf's own if it said one.
 */
int perf_stat__start(struct perf_stat **p, const char *events, char *why, size_t room);
/* Starts and ends counting; returns when it is done. 0 or -errno. */
int perf_stat__count(struct perf_stat *p, int on);
/* Ends it; what it wrote, to be freed, or NULL. */
char *perf_stat__finish(struct perf_stat *p);
