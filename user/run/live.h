/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * --interval: a line every so often while a window is open, of what was counted since
 * the line before. analysis/derive subtracts and words it: the lines add up to the report.
 */
#pragma once

#include "user/kernel/plan.h"

#include <stdio.h>

struct tracer;
struct deriver;
struct live;

#define LIVE_MIN_S 0.1

/* Lines to out, every so many seconds; NULL when out of memory. */
struct live *live__new(double seconds, FILE *out, struct deriver *deriver);
void live__free(struct live *l);
/*
 * A window opens, with the hooks of a plan, for so many seconds (0: nobody knows); label stands
 * before its lines ("": no such column).
 */
void live__begin(struct live *l, const char *label, const struct plan *plan, double seconds);
/* Writes a line if it is time to. Of these three l may be NULL. */
void live__tick(struct live *l, struct tracer *tracer);
/* ms until it is, at most so many. */
int live__ms_left(const struct live *l, int most);
/*
 * The window closed, with these counts (tracer__dump()): a last line on what remains. It takes in a
 * last fraction of an interval where the end was known; elsewhere there is none on a fraction in
 * which nothing was sent.
 */
void live__end(struct live *l, const char *maps);
/* No more windows: what comes after the lines is set off from them. */
void live__done(struct live *l);
