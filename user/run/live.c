// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/run/live.h"

#include "user/system/front.h"
#include "user/trace/dump.h"

#include "common/program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct live {
	double seconds;
	struct sight sight;
	struct timespec begun;
	double due, end; /* seconds of the window: the next line, and its end if known */
	struct front *front;
};

static const char *truth(bool value)
{
	return value ? "true" : "false";
}

struct live *live__new(double seconds, struct front *front)
{
	struct live *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->seconds = seconds;
	l->front = front;
	return l;
}

void live__free(struct live *l)
{
	free(l);
}

void live__begin(struct live *l, const struct plan *plan, double seconds)
{
	if (!l)
		return;
	l->sight = plan__sight(plan);
	clock_gettime(CLOCK_MONOTONIC, &l->begun);
	l->due = l->seconds;
	l->end = seconds > 0 ? seconds : INFINITY;
}

/* maps: totals and calls, and maybe more. The last line is waited for, as the window is over. */
static void send_line(struct live *l, const char *maps, bool last)
{
	char *line;

	if (!maps || asprintf(&line,
			      "{\"schema\":\"sendpath.interval/1\",\"at\":%.6f,\"seconds\":%.6f,"
			      "\"last\":%s,\"sees_unflagged\":%s,\"knows_uring\":%s,"
			      "\"maps\":%s}\n",
			      elapsed_since(&l->begun), l->seconds, truth(last),
			      truth(l->sight.unflagged), truth(l->sight.unknown), maps) < 0)
		return;
	if (last)
		front__say(l->front, line);
	else
		front__offer(l->front, line);
}

void live__tick(struct live *l, struct tracer *tracer)
{
	char *maps;

	if (!l || elapsed_since(&l->begun) < l->due || l->due + l->seconds > l->end + 1e-6)
		return;
	maps = tracer__dump_text(tracer, DUMP_TOTALS_AND_CALLS);
	send_line(l, maps, false);
	free(maps);
	l->due = (floor(elapsed_since(&l->begun) / l->seconds) + 1) * l->seconds;
}

int live__ms_left(const struct live *l, int most)
{
	double ms = l ? ceil((l->due - elapsed_since(&l->begun)) * 1e3) : most;

	return ms < 0 ? 0 : ms < most ? (int)ms : most;
}

void live__end(struct live *l, const char *maps)
{
	if (l)
		send_line(l, maps, true);
}
