/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How far it is: on a terminal a bar that moves; elsewhere, of a sweep, a line a run. On stderr. */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct sweep_progress {
	size_t runs, before; /* of the whole sweep; done by earlier ones */
	double guess_s;	     /* of a run, until one has been timed */
	bool grid;	     /* no lines: what is reported tells */
	bool quiet;	     /* no bar: others write to the terminal */
	/* its own: */
	bool terminal, shown;
	size_t done, timed;
	double timed_s;
	char label[96];
	struct timespec begun;
};

/* A run begins; from now on tick may be called often. */
void sweep_progress__begin(struct sweep_progress *p, const char *label);
void sweep_progress__tick(struct sweep_progress *p);
/*
 * It ended: timed if it says how long such runs take. The word is what came of it,
 * for the line.
 */
void sweep_progress__end(struct sweep_progress *p, bool timed, const char *word);
/* Takes the bar away. */
void sweep_progress__clear(struct sweep_progress *p);

/* "3 h 5 min", "4 min 20 s", "12 s" */
const char *sweep_progress__left(double seconds, char text[32]);
