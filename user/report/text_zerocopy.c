// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Zero-copy sends: how many were copied, and who says so; then what they cost after they
 * returned, in the order that it comes due.
 */
#include "user/report/text.h"

#include "user/report/record_read.h"
#include "user/report/verdict.h"

#include "common/hist_stats.h"
#include "common/units.h"

#include <string.h>

#define LABEL "  %-14s "

/* Returns whether it sees all that it is for. */
static bool print_hook(json_object *record, const char *name, FILE *out)
{
	json_object *hook;
	size_t i;

	for (i = 0; (hook = record__row(record, "/plan/hooks", i)); i++) {
		if (strcmp(record__string(hook, "/name"), name))
			continue;
		if (record__at(hook, "/symbol"))
			fprintf(out, "%s %s", record__string(hook, "/mechanism"),
				record__string(hook, "/symbol"));
		else
			fprintf(out, "not available: %s", record__string(hook, "/reason"));
		return !record__at(hook, "/reason");
	}
	return false;
}

/* Each cause in a line of numbers and two of words. */
static void causes(const struct cell *cell, FILE *out)
{
	const struct cause_row *row;
	struct cause_rows rows;
	char name[2 * 64];
	size_t i;

	cause_rows__gather(&rows, cell);
	for (i = 0; i < rows.count; i++) {
		row = cause__words(rows.rows[i].cause, rows.rows[i].stack[0]);
		fprintf(out, LABEL "%s", units__number_text(rows.rows[i].sends), row->title);
		if (rows.rows[i].device[0])
			fprintf(out, ", %s", cause_rows__device(&rows, i, name, sizeof(name)));
		if (rows.rows[i].silent > 0 && rows.rows[i].silent < rows.rows[i].sends)
			fprintf(out, ", %s of them unreported",
				units__number_text(rows.rows[i].silent));
		if (rows.rows[i].skbs > 0)
			fprintf(out, "; %.0f %% of the skbs inside the sends' own calls",
				100 * rows.rows[i].skbs_in_send / rows.rows[i].skbs);
		fprintf(out, "\n" LABEL "%s\n", "", row->meaning);
		if (rows.rows[i].stack[0])
			fprintf(out, LABEL "%s\n", "", rows.rows[i].stack);
	}
}

/* The three answers to "was it copied?"; docs/zerocopy.md says why they may differ. */
static void answers(const struct cell *cell, FILE *out)
{
	double reported = 0, flagged = 0, silent = 0, unexplained = 0, bytes, unseen;
	bool reported_known = cell__sum(cell, "/zerocopy/app_told_copied", &reported);
	bool flagged_known = cell__sum(cell, "/zerocopy/copied_flagged", &flagged);
	bool silent_known = cell__sum(cell, "/zerocopy/copied_silent", &silent);

	fprintf(out, LABEL "%s by the error queue, as the application read it\n", "reported",
		reported_known ? units__number_text(reported) : "not known");
	fprintf(out, LABEL "%s by the kernel (", "flagged",
		flagged_known ? units__number_text(flagged) : "not known");
	if (print_hook(cell->records[0], "completion", out))
		fputs(", before notifications coalesce", out);
	fputs(")", out);
	if (cell__sum(cell, "/lost/flags", &unseen) && unseen > 0)
		fprintf(out, "; %s flags were inferred from neighbouring completions",
			units__number_text(unseen));
	fputs("\n", out);
	fprintf(out, LABEL "%s copied without a flag", "unreported",
		silent_known ? units__number_text(silent) : "not known how many");
	if (silent > 0 && cell__sum(cell, "/zerocopy/bytes_copied_silent", &bytes))
		fprintf(out, ", %s bytes", units__number_text(bytes));
	fputc('\n', out);
	if (cell__sum(cell, "/zerocopy/unexplained", &unexplained) && unexplained > 0)
		fprintf(out,
			LABEL "%s neither flagged nor seen to be copied, whose pages reached no "
			      "NIC\n",
			"unexplained", units__number_text(unexplained));
	if (reported_known && flagged_known && reported != flagged)
		fprintf(out,
			LABEL
			"the kernel coalesces notifications, and the flag of the first stands "
			"for all%s\n",
			"difference", reported < flagged ? "; or not all was read" : "");
}

static void skb_copies(const struct cell *cell, FILE *out)
{
	double n, bytes;

	if (!cell__sum(cell, "/zerocopy/skb_copies", &n) ||
	    !cell__sum(cell, "/zerocopy/skb_copy_bytes", &bytes) || n <= 0)
		return;
	fprintf(out, LABEL "%s", "copied", units__counted_text(bytes, "byte"));
	fprintf(out, " in %s\n", units__counted_text(n, "skb"));
}

static void ignored(const struct cell *cell, FILE *out)
{
	double all = 0, empty = 0;

	cell__sum(cell, "/zerocopy/ignored", &all);
	cell__sum(cell, "/zerocopy/ignored_empty", &empty);
	if (all > empty)
		fprintf(out, LABEL "%s because the socket lacks SO_ZEROCOPY", "ignored",
			units__number_text(all - empty));
	else if (empty > 0)
		fprintf(out, LABEL "%s of zero length", "ignored", units__number_text(empty));
	if (all > empty && empty > 0)
		fprintf(out, "; %s of zero length", units__number_text(empty));
	if (all > 0)
		fputc('\n', out);
}

static void refusals(const struct cell *cell, FILE *out)
{
	const struct refusal_row *refusal;
	double n, outstanding;
	json_object *row;
	size_t i;

	for (i = 0; (row = cell__row(cell, "/zerocopy/refused", i)); i++) {
		refusal = refusal__find(record__string(row, "/cause"));
		fprintf(out, LABEL "%s, %s: %s\n", "refused",
			units__number_text(record__value(row, "/count")),
			record__string(row, "/errno"),
			refusal ? refusal->meaning : record__string(row, "/cause"));
	}
	ignored(cell, out);
	if (cell__sum(cell, "/zerocopy/outstanding", &outstanding) && outstanding > 0)
		fprintf(out, LABEL "%s without a completion when the window closed\n",
			"outstanding", units__number_text(outstanding));
	if (cell__sum(cell, "/zerocopy/completions_before", &n) && n > 0)
		fprintf(out, LABEL "%s more completed, of sends from before the window\n",
			"earlier", units__number_text(n));
}

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

static void copied(double copied, double completions, FILE *out)
{
	if (copied > 0)
		fprintf(out, "%s of them copied (%s)", units__number_text(copied),
			units__percent_text(copied, completions));
	else
		fputs("none copied", out);
}

/* Sends by io_uring's own operations. */
static void uring(const struct cell *cell, FILE *out)
{
	double requests, completions, n;

	if (!cell__sum(cell, "/zerocopy/io_uring/requests", &requests) || requests <= 0)
		return;
	fprintf(out, "%s: %s by io_uring's SEND_ZC", cell->title,
		units__counted_text(requests, "send"));
	if (cell__sum(cell, "/zerocopy/io_uring/completions", &completions)) {
		fprintf(out, ", %s completed, ", units__number_text(completions));
		if (cell__sum(cell, "/zerocopy/io_uring/copied", &n))
			copied(n, completions, out);
		else
			fputs("how many of them were copied is not known", out);
		if (cell__sum(cell, "/zerocopy/io_uring/outstanding", &n) && n > 0)
			fprintf(out, "; without a completion when the window closed: %s",
				units__number_text(n));
	} else {
		fputs("; how many of them were copied is not known", out);
	}
	fputc('\n', out);
}

/* Of the sends that are measured. */
static void none_asked(const struct cell *cell, FILE *out)
{
	json_object *record = cell->records[0];
	bool all = !text__unseen(record) &&
		   !record__value(record, "/observed/others/zerocopy_requests");

	fprintf(out, "%s: no TCP send%s asked for zero-copy\n", cell->title,
		all ? "" : " that is measured");
}

/* False where there is nothing more to say. */
static bool summary(const struct cell *cell, FILE *out)
{
	double requests = cell__sum_or(cell, "/zerocopy/requests", 0), completions, n;

	if (!requests) {
		if (!cell__at(cell, "/zerocopy/io_uring"))
			none_asked(cell, out);
		return false;
	}
	fprintf(out, "%s: %s asked for zero-copy", cell->title,
		units__counted_text(requests, "send"));
	if (cell__sum(cell, "/zerocopy/completions", &completions) &&
	    cell__sum(cell, "/zerocopy/copied", &n)) {
		fprintf(out, ", %s completed, ", units__number_text(completions));
		copied(n, completions, out);
		fputc('\n', out);
	} else {
		fputs("; how many were copied is not known\n", out);
	}
	return true;
}

void text__zerocopy(const struct cells *cells, FILE *out)
{
	const struct cell *cell;

	for (cell = cells->cells; cell < cells->cells + cells->count; cell++) {
		if (!cell__at(cell, "/zerocopy"))
			continue;
		uring(cell, out);
		if (summary(cell, out)) {
			causes(cell, out);
			answers(cell, out);
			skb_copies(cell, out);
			refusals(cell, out);
			latency(cell, out);
			pinned(cell, out);
			notifications(cell, out);
			error_queue(cell, out);
		}
		fputc('\n', out);
	}
}
