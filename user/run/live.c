// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/run/live.h"

#include "user/system/deriver.h"
#include "user/trace/dump.h"

#include "common/json.h"
#include "common/program.h"

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
	bool first;	 /* no line was printed of this window */
	struct deriver *deriver;
};

static const char *truth(bool value)
{
	return value ? "true" : "false";
}

struct live *live__new(double seconds, FILE *out, struct deriver *deriver)
{
	struct live *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->seconds = seconds;
	l->out = out;
	l->deriver = deriver;
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
	l->first = true;
}

/* A reader that does not read, such as a pager, must not hold up the run: it misses lines. */
static bool takes_a_line(FILE *out)
{
	struct pollfd p = {.fd = fileno(out), .events = POLLOUT};

	return poll(&p, 1, 0) > 0;
}

/* maps: totals and calls, and maybe more. */
static void line(struct live *l, const char *maps, bool last)
{
	json_object *answer, *text = NULL;
	char *raw;

	if (!l->deriver || !maps || !takes_a_line(l->out))
		return;
	if (asprintf(&raw,
		     "{\"schema\":\"sendpath.interval/1\",\"at\":%.6f,\"seconds\":%.6f,"
		     "\"first\":%s,\"last\":%s,\"sees_unflagged\":%s,\"knows_uring\":%s,"
		     "\"maps\":%s}\n",
		     elapsed_since(&l->begun), l->seconds, truth(l->first), truth(last),
		     truth(l->sight.unreported), truth(l->sight.unknown), maps) < 0)
		return;
	answer = deriver__record(l->deriver, raw);
	l->first = false;
	if (!answer) /* it was said */
		l->deriver = NULL;
	if (json_object_object_get_ex(answer, "line", &text) && text) {
		if (l->lines++ % LINES_A_HEADER == 0)
			fprintf(l->out, "%s\n",
				json_object_get_string(json_object_object_get(answer, "header")));
		if (l->label[0])
			fprintf(l->out, "%s:\n", l->label);
		l->label[0] = 0;
		fprintf(l->out, "%s\n", json_object_get_string(text));
		fflush(l->out);
	}
	json_object_put(answer);
}

void live__tick(struct live *l, struct tracer *tracer)
{
	char *maps;

	if (!l || elapsed_since(&l->begun) < l->due || l->due + l->seconds > l->end + 1e-6)
		return;
	maps = tracer__dump_text(tracer, DUMP_TOTALS_AND_CALLS);
	line(l, maps, false);
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
		line(l, maps, true);
}

void live__done(struct live *l)
{
	if (l && l->lines)
		fputc('\n', l->out);
}
