// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/sweep/sweep_private.h"

#include "common/program.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BAR 20

const char *sweep_progress__left(double seconds, char text[32])
{
	unsigned long s = seconds > 0 ? (unsigned long)(seconds + 0.5) : 0;

	if (s >= 3600)
		snprintf(text, 32, "%lu h %lu min", s / 3600, s % 3600 / 60);
	else if (s >= 60)
		snprintf(text, 32, "%lu min %lu s", s / 60, s % 60);
	else
		snprintf(text, 32, "%lu s", s);
	return text;
}

static double left(const struct sweep_progress *p, double running_s)
{
	double each = p->timed ? p->timed_s / (double)p->timed : p->guess_s;
	double rest = (double)(p->runs - p->before - p->done) * each;

	return rest > running_s ? rest - running_s : 0;
}

void sweep_progress__begin(struct sweep_progress *p, const char *label)
{
	snprintf(p->label, sizeof(p->label), "%s", label);
	clock_gettime(CLOCK_MONOTONIC, &p->begun);
	p->terminal = !p->quiet && isatty(STDERR_FILENO);
	sweep_progress__tick(p);
}

void sweep_progress__tick(struct sweep_progress *p)
{
	static const char full[] = "####################", empty[] = "....................";
	size_t done = p->before + p->done;
	int bar = p->runs ? (int)(done * BAR / p->runs) : BAR;
	double running = elapsed_since(&p->begun);
	char text[32];

	if (!p->terminal)
		return;
	p->shown = true;
	if (!p->runs) {
		fprintf(stderr, "\r%s: %.1f s \033[K", p->label, running);
		return;
	}
	fprintf(stderr, "\r[%.*s%.*s] %zu/%zu  %s: %.1f s, %s left\033[K", bar, full, BAR - bar,
		empty, done, p->runs, p->label, running,
		sweep_progress__left(left(p, running), text));
}

void sweep_progress__clear(struct sweep_progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}

void sweep_progress__end(struct sweep_progress *p, bool timed, const char *word)
{
	double seconds = elapsed_since(&p->begun);
	char text[32];

	p->done++;
	if (timed) {
		p->timed++;
		p->timed_s += seconds;
	}
	if (!p->terminal && !p->grid)
		fprintf(stderr, "[%zu/%zu] %s: %s, %.1f s; %s left\n", p->before + p->done, p->runs,
			p->label, word, seconds, sweep_progress__left(left(p, 0), text));
}
