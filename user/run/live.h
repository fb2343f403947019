/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * --interval: a line every so often while a window is open, of what was counted since
 * the line before. Reads what the report will be made of, twice, and subtracts: the
 * lines add up to the report.
 */
#pragma once

#include "user/kernel/plan.h"
#include "user/trace/measured.h"

#include <stdio.h>

struct tracer;
struct live;

#define LIVE_LINE_MAX 512
#define LIVE_MIN_S    0.1

/* What a window has counted so far, by all ways of sending together. */
struct live_sample {
	double at;		    /* seconds since the window opened */
	__u64 sends, failed, bytes; /* failed: as the program saw it, not interrupted by a signal */
	__u64 requests;		    /* of zero-copy */
	__u64 completions;
	__s64 copied;	  /* the kernel takes some back, later */
	__u64 unreported; /* of the completions: whether these were copied is not known */
	struct hist wall;
};

void live_sample__take(struct live_sample *s, const struct measured *m, const struct sight *sight,
		       double at);
/* What came between the two. Pure, as is the next. */
void live_sample__subtract(struct live_sample *between, const struct live_sample *now,
			   const struct live_sample *before);
/* The line on it, without its end. */
void live_sample__line(const struct live_sample *between, double at, char text[LIVE_LINE_MAX]);

/* Lines to out, every so many seconds; NULL when out of memory. */
struct live *live__new(double seconds, FILE *out);
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
 * The window closed: a last line on what remains. It takes in a last fraction of an interval where
 * the end was known; elsewhere there is none on a fraction in which nothing was sent.
 */
void live__end(struct live *l, const struct measured *m);
/* No more windows: what comes after the lines is set off from them. */
void live__done(struct live *l);
