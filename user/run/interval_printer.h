/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * --interval: every so often while a window is open the front gets the counts as they stand, and
 * prints what came since the line before. It never holds up the window: a line for which it has no
 * time is left out, and the next one has its counts, too.
 */
#pragma once

#include "user/kernel/plan.h"

#include <time.h>

struct tracer;
struct front;

#define LIVE_MIN_S 0.1

struct interval_printer {
	double seconds; /* every so many */
	struct front *front;
	/* its own: */
	struct coverage coverage;
	struct timespec begun;
	double due, end; /* seconds of the window: the next line, and its end if known */
};

/* A window opens, with the hooks of a plan, for so many seconds (0: unknown). */
void interval_printer__begin(struct interval_printer *l, const struct plan *plan, double seconds);
/* Sends a line if it is time to. Of these three l may be NULL. */
void interval_printer__tick(struct interval_printer *l, struct tracer *tracer);
/* ms until it is, at most so many. */
int interval_printer__ms_left(const struct interval_printer *l, int most);
/*
 * The window closed, with these counts (tracer__dump()): a last line on what remains. It takes in a
 * last fraction of an interval where the end was known; elsewhere there is none on a fraction in
 * which nothing was sent.
 */
void interval_printer__end(struct interval_printer *l, const char *maps);
