// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/run/interval_sender.h"

#include "user/system/front.h"
#include "user/trace/tracer.h"

#include "common/program.h"

#include <math.h>
#include <stdlib.h>

static const char *truth(bool value)
{
	return value ? "true" : "false";
}

void interval_sender__begin(struct interval_sender *s, const struct plan *plan, double seconds)
{
	if (!s)
		return;
	s->plan = plan;
	clock_gettime(CLOCK_MONOTONIC, &s->begun);
	if (s->groups)
		interval_groups__begin(s->groups);
	s->due = s->seconds;
	s->end = seconds > 0 ? seconds : INFINITY;
}

/*
 * Sends a line whose member of this name has the counts. Only the last line may wait for the front,
 * because the window is over. Returns whether the line was sent.
 */
static bool send_line(struct interval_sender *s, const char *name, const char *counts, bool last)
{
	const struct hook_option *uring = s->plan->entries[HOOK_URING].option;
	bool sees_unflagged = !plan__blind_to_unflagged(s->plan);
	char *line;

	if (!counts ||
	    asprintf(&line,
		     "{\"schema\":\"sendpath.interval/1\",\"at\":%.6f,\"seconds\":%.6f,"
		     "\"last\":%s,\"sees_unflagged\":%s,\"knows_uring\":%s,"
		     "\"%s\":%s}\n",
		     elapsed_since(&s->begun), s->seconds, truth(last), truth(sees_unflagged),
		     truth(uring && !uring->by_report), name, counts) < 0)
		return false;
	return last ? !front__send(s->front, line) : front__offer(s->front, line);
}

static void send_groups(struct interval_sender *s, struct tracer *tracer, bool last)
{
	char *groups = interval_groups__read(s->groups, tracer);

	if (send_line(s, "groups", groups, last))
		interval_groups__sent(s->groups, tracer);
	free(groups);
}

static void send_totals(struct interval_sender *s, struct tracer *tracer)
{
	char *maps = tracer__dump(tracer, TOTALS_AND_CALLS);

	send_line(s, "maps", maps, false);
	free(maps);
}

/* Returns whether the next line is the last one, which the end of the window sends. */
static bool awaits_last_line(const struct interval_sender *s)
{
	return s->due + s->seconds > s->end + 1e-6;
}

void interval_sender__tick(struct interval_sender *s, struct tracer *tracer)
{
	if (!s || awaits_last_line(s) || elapsed_since(&s->begun) < s->due)
		return;
	if (s->groups)
		send_groups(s, tracer, false);
	else
		send_totals(s, tracer);
	s->due = (floor(elapsed_since(&s->begun) / s->seconds) + 1) * s->seconds;
}

int interval_sender__ms_left(const struct interval_sender *s, int most)
{
	double ms =
		s && !awaits_last_line(s) ? ceil((s->due - elapsed_since(&s->begun)) * 1e3) : most;

	return ms < 0 ? 0 : ms < most ? (int)ms : most;
}

void interval_sender__end(struct interval_sender *s, struct tracer *tracer, const char *maps)
{
	if (s && s->groups)
		send_groups(s, tracer, true);
	else if (s)
		send_line(s, "maps", maps, true);
}
