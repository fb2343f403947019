// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/run/interval_printer.h"

#include "user/system/front.h"
#include "user/trace/tracer.h"

#include "common/program.h"

#include <math.h>
#include <stdlib.h>

static const char *truth(bool value)
{
	return value ? "true" : "false";
}

void interval_printer__begin(struct interval_printer *l, const struct plan *plan, double seconds)
{
	if (!l)
		return;
	l->plan = plan;
	clock_gettime(CLOCK_MONOTONIC, &l->begun);
	if (l->groups)
		interval_groups__begin(l->groups);
	l->due = l->seconds;
	l->end = seconds > 0 ? seconds : INFINITY;
}

/*
 * Sends a line whose member of this name has the counts. Only the last line may wait for the front,
 * because the window is over. Returns whether the line was sent.
 */
static bool send_line(struct interval_printer *l, const char *name, const char *counts, bool last)
{
	const struct hook_option *uring = l->plan->entries[HOOK_URING].option;
	bool sees_unflagged = !plan__blind_to_unflagged(l->plan);
	char *line;

	if (!counts ||
	    asprintf(&line,
		     "{\"schema\":\"sendpath.interval/1\",\"at\":%.6f,\"seconds\":%.6f,"
		     "\"last\":%s,\"sees_unflagged\":%s,\"knows_uring\":%s,"
		     "\"%s\":%s}\n",
		     elapsed_since(&l->begun), l->seconds, truth(last), truth(sees_unflagged),
		     truth(uring && !uring->by_report), name, counts) < 0)
		return false;
	return last ? !front__send(l->front, line) : front__offer(l->front, line);
}

static void send_groups(struct interval_printer *l, struct tracer *tracer, bool last)
{
	char *groups = interval_groups__read(l->groups, tracer);

	if (send_line(l, "groups", groups, last))
		interval_groups__sent(l->groups, tracer);
	free(groups);
}

static void send_totals(struct interval_printer *l, struct tracer *tracer)
{
	char *maps = tracer__dump(tracer, TOTALS_AND_CALLS);

	send_line(l, "maps", maps, false);
	free(maps);
}

/* Returns whether the next line is the last one, which the end of the window sends. */
static bool awaits_last_line(const struct interval_printer *l)
{
	return l->due + l->seconds > l->end + 1e-6;
}

void interval_printer__tick(struct interval_printer *l, struct tracer *tracer)
{
	if (!l || awaits_last_line(l) || elapsed_since(&l->begun) < l->due)
		return;
	if (l->groups)
		send_groups(l, tracer, false);
	else
		send_totals(l, tracer);
	l->due = (floor(elapsed_since(&l->begun) / l->seconds) + 1) * l->seconds;
}

int interval_printer__ms_left(const struct interval_printer *l, int most)
{
	double ms =
		l && !awaits_last_line(l) ? ceil((l->due - elapsed_since(&l->begun)) * 1e3) : most;

	return ms < 0 ? 0 : ms < most ? (int)ms : most;
}

void interval_printer__end(struct interval_printer *l, struct tracer *tracer, const char *maps)
{
	if (l && l->groups)
		send_groups(l, tracer, true);
	else if (l)
		send_line(l, "maps", maps, true);
}
