/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sends the counts so far to the front regularly while a window is open (--interval); the front
 * prints the change since its last line. For top it sends the changes of groups. It never delays
 * the window: if the front is not ready for a line, the line is left out, and the next one includes
 * its counts.
 */
#pragma once

#include "user/kernel/plan.h"
#include "user/run/interval_groups.h"

#include <time.h>

struct front;

struct interval_sender {
	double seconds; /* seconds between lines */
	struct front *front;
	struct interval_groups *groups; /* NULL: lines have the totals and calls */
	/* private: */
	const struct plan *plan;
	struct timespec begun;
	double due, end; /* seconds from the beginning to the next line, and to the end if known */
};

/* Called as the window opens. plan must stay valid; seconds: the window's duration, 0: unknown. */
void interval_sender__begin(struct interval_sender *s, const struct plan *plan, double seconds);
/* Sends a line if one is due. s may be NULL here and in the next two functions. */
void interval_sender__tick(struct interval_sender *s, struct tracer *tracer);
/* Returns the ms until a line is due, up to most. */
int interval_sender__ms_left(const struct interval_sender *s, int most);
/*
 * Sends a last line with the counts of the closed window (tracer__dump()). If the end of the window
 * was known, the last line includes a last fraction of an interval; otherwise a fraction without
 * sends gets no line.
 */
void interval_sender__end(struct interval_sender *s, struct tracer *tracer, const char *maps);
