// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a zero-copy send costs after it returned: one line each, in what order it comes due. */
#include "user/report/text.h"

#include "user/record/record_read.h"

#include "common/hist_stats.h"
#include "common/units.h"

#define LABEL "  %-14s "

/* The largest of the repeats; false if any lacks it. */
static bool largest(const struct cell *cell, const char *path, double *most)
{
	struct spread s = cell__spread(cell, path);

	*most = s.high;
	return s.count == cell->count;
}

static void latency(const struct cell *cell, FILE *out)
{
	struct hist h;
	double untimed;
	const char *span = cell__hist(cell, "/zerocopy/completion_ns", &h);

	if (!h.count || !cell__sum(cell, "/zerocopy/completions_untimed", &untimed))
		return;
	fprintf(out, LABEL "p50 %s, p99 %s, max %s, span %s", "completion",
		units__time_text((double)hist__percentile(&h, 500)),
		units__time_text((double)hist__percentile(&h, 990)),
		units__time_text((double)h.max), span);
	if (untimed > 0)
		fprintf(out, "; not timed: %s", units__number_text(untimed));
	fputc('\n', out);
}

static void pinned(const struct cell *cell, FILE *out)
{
	double bytes, pages, now;

	if (!largest(cell, "/zerocopy/pinned/bytes_max", &bytes) ||
	    !largest(cell, "/zerocopy/pinned/pages_max", &pages) ||
	    !largest(cell, "/zerocopy/pinned/bytes_now", &now))
		return;
	fprintf(out, LABEL "at most %s, for which RLIMIT_MEMLOCK is charged %s; ", "pinned",
		units__counted_text(bytes, "byte"), units__counted_text(pages, "page"));
	if (now > 0)
		fprintf(out, "%s when the window closed\n", units__counted_text(now, "byte"));
	else
		fputs("none when the window closed\n", out);
}

static void notifications(const struct cell *cell, FILE *out)
{
	double records, told, runs, unread;

	if (!cell__sum(cell, "/zerocopy/notifications/read", &records) ||
	    !cell__sum(cell, "/zerocopy/notifications/reported", &told))
		return;
	fprintf(out, LABEL "the application read %s about %s", "notifications",
		units__counted_text(records, "notification"), units__counted_text(told, "send"));
	if (records > 0)
		fprintf(out, ", %s sends per notification", units__figure_text(told / records, 3));
	if (cell__sum(cell, "/zerocopy/notifications/ranges", &runs))
		fprintf(out, "; before coalescing: %s", units__number_text(runs));
	if (cell__sum(cell, "/zerocopy/notifications/unread", &unread) && unread > 0)
		fprintf(out, "; completed, not yet read: %s", units__number_text(unread));
	fputc('\n', out);
}

static double mean(const struct hist *h)
{
	return h->count ? (double)h->sum / (double)h->count : 0;
}

static void error_queue(const struct cell *cell, FILE *out)
{
	struct hist found, empty;
	double sends;

	cell__hist(cell, "/zerocopy/error_queue/read_ns", &found);
	cell__hist(cell, "/zerocopy/error_queue/empty_read_ns", &empty);
	if (!cell__sum(cell, "/zerocopy/error_queue/sends", &sends) || sends < 1)
		return;
	fprintf(out, LABEL "%s per send: %s reads per send", "error queue",
		units__time_text((double)(found.sum + empty.sum) / sends),
		units__figure_text((double)found.count / sends, 2));
	if (found.count)
		fprintf(out, " of %s", units__time_text(mean(&found)));
	if (empty.count)
		fprintf(out, ", and %s of %s that found nothing",
			units__figure_text((double)empty.count / sends, 2),
			units__time_text(mean(&empty)));
	fputc('\n', out);
}

void text__completion(const struct cell *cell, FILE *out)
{
	latency(cell, out);
	pinned(cell, out);
	notifications(cell, out);
	error_queue(cell, out);
}
