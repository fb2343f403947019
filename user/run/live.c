// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/run/live.h"

#include "common/program.h"
#include "user/trace/tracer.h"

#include "common/hist_stats.h"
#include "common/units.h"

#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LINES_A_HEADER 20
#define LABEL_MAX      40

struct live {
	double seconds;
	FILE *out;
	char label[LABEL_MAX]; /* of the run, until it is printed */
	struct sight sight;
	unsigned int lines;
	struct timespec begun;
	double due, end; /* seconds of the window: the next line, and its end if known */
	struct live_sample before;
	struct measured now; /* too large for a stack */
};

void live_sample__take(struct live_sample *s, const struct measured *m, const struct sight *sight,
		       double at)
{
	const struct totals *t = &m->totals;
	struct sized_sends accepted;
	__u64 sends;
	__u32 slot;

	memset(s, 0, sizeof(*s));
	s->at = at;
	for (slot = 0; slot < CALL_SLOTS; slot++) {
		accepted = call__accepted(&m->calls[slot]);
		sends = accepted.sends + m->calls[slot].failed;
		s->sends += sends;
		s->failed += m->calls[slot].failed - m->calls[slot].interrupted;
		s->bytes += accepted.bytes;
		if (slot & 1)
			s->requests += sends;
		hist__merge(&s->wall, &m->calls[slot].wall);
	}
	s->completions = t->completions + t->uring_completions;
	s->copied = (__s64)(t->flagged + t->flag_added - t->flag_retracted + t->uring_copied);
	if (sight->unreported)
		s->copied += (__s64)t->unflagged;
	if (!sight->unknown)
		s->unreported = t->uring_unknown;
}

/* The largest of the difference is not known; it is none above the largest of all. */
static void subtract_hist(struct hist *between, const struct hist *now, const struct hist *before)
{
	__u32 i;

	*between = *now;
	between->count -= before->count;
	between->sum -= before->sum;
	for (i = 0; i < HIST_BUCKETS; i++)
		between->buckets[i] -= before->buckets[i];
}

void live_sample__subtract(struct live_sample *between, const struct live_sample *now,
			   const struct live_sample *before)
{
	between->at = now->at - before->at;
	between->sends = now->sends - before->sends;
	between->failed = now->failed - before->failed;
	between->bytes = now->bytes - before->bytes;
	between->requests = now->requests - before->requests;
	between->completions = now->completions - before->completions;
	between->copied = now->copied - before->copied;
	between->unreported = now->unreported - before->unreported;
	subtract_hist(&between->wall, &now->wall, &before->wall);
}

static const char *time_text(const struct hist *wall, unsigned int per_mille)
{
	return wall->count ? units__decimal_text((double)hist__percentile(wall, per_mille) / 1e3, 2)
			   : "-";
}

/* A flag that the kernel takes back in a later interval would lead out of 0 to 100. */
static const char *copied_text(const struct live_sample *s)
{
	double all = s->unreported ? 0 : (double)s->completions, copied = (double)s->copied;

	return units__percent_text(copied < 0 ? 0 : copied > all ? all : copied, all);
}

#define FORMAT "%6s %11s %10s %9s %10s %6s %11s %7s" /* fits 80 columns */

void live_sample__line(const struct live_sample *s, double at, char text[LIVE_LINE_MAX])
{
	snprintf(text, LIVE_LINE_MAX, FORMAT, units__decimal_text(at, 1),
		 units__count_text(s->sends),
		 units__decimal_text(s->at > 0 ? (double)s->bytes * 8 / 1e6 / s->at : 0, 2),
		 time_text(&s->wall, 500), time_text(&s->wall, 990), units__count_text(s->failed),
		 units__count_text(s->requests), copied_text(s));
}

struct live *live__new(double seconds, FILE *out)
{
	struct live *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->seconds = seconds;
	l->out = out;
	return l;
}

void live__free(struct live *l)
{
	free(l);
}

void live__begin(struct live *l, const char *label, const struct plan *plan, double seconds)
{
	if (!l)
		return;
	snprintf(l->label, sizeof(l->label), "%s", label);
	l->sight = plan__sight(plan);
	clock_gettime(CLOCK_MONOTONIC, &l->begun);
	l->due = l->seconds;
	l->end = seconds > 0 ? seconds : INFINITY;
	memset(&l->before, 0, sizeof(l->before));
}

/* A reader that does not read, such as a pager, must not hold up the run: it misses lines. */
static bool takes_a_line(FILE *out)
{
	struct pollfd p = {.fd = fileno(out), .events = POLLOUT};

	return poll(&p, 1, 0) > 0;
}

static void line(struct live *l, const struct measured *m, bool last)
{
	struct live_sample now, between;
	char text[LIVE_LINE_MAX];

	if (!takes_a_line(l->out))
		return;
	live_sample__take(&now, m, &l->sight, elapsed_since(&l->begun));
	live_sample__subtract(&between, &now, &l->before);
	if (last && l->before.at > 0 && !between.sends && between.at < l->seconds / 2)
		return;
	if (l->lines++ % LINES_A_HEADER == 0)
		fprintf(l->out, FORMAT "\n", "time s", "sends", "Mbit/s", "us p50", "p99", "failed",
			"zero-copy", "copied");
	if (l->label[0])
		fprintf(l->out, "%s:\n", l->label);
	l->label[0] = 0;
	live_sample__line(&between, now.at, text);
	fprintf(l->out, "%s\n", text);
	fflush(l->out);
	l->before = now;
}

void live__tick(struct live *l, struct tracer *tracer)
{
	if (!l || elapsed_since(&l->begun) < l->due || l->due + l->seconds > l->end + 1e-6)
		return;
	if (!tracer__peek(tracer, &l->now))
		line(l, &l->now, false);
	l->due = (floor(elapsed_since(&l->begun) / l->seconds) + 1) * l->seconds;
}

int live__ms_left(const struct live *l, int most)
{
	double ms = l ? ceil((l->due - elapsed_since(&l->begun)) * 1e3) : most;

	return ms < 0 ? 0 : ms < most ? (int)ms : most;
}

void live__end(struct live *l, const struct measured *m)
{
	if (l)
		line(l, m, true);
}

void live__done(struct live *l)
{
	if (l && l->lines)
		fputc('\n', l->out);
}
