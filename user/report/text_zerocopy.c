// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The fallback lines: how many zero-copy sends were copied, and who says so. */
#include "user/report/text.h"

#include "common/safe_text.h"
#include "user/kernel/refusals.h"
#include "user/record/record_read.h"
#include "user/report/cause_rows.h"

#include "common/units.h"

#include <string.h>

#define LABEL "  %-14s "

/* Returns whether it sees all that it is for. */
static bool print_hook(json_object *record, const char *name, FILE *out)
{
	json_object *hooks = record__at(record, "/plan/hooks"), *hook;
	size_t i;

	for (i = 0; hooks && i < json_object_array_length(hooks); i++) {
		hook = json_object_array_get_idx(hooks, i);
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
	char text[UNITS_TEXT_MAX], name[5 * 64], words[4 * 256];
	size_t i;

	cause_rows__gather(&rows, cell);
	for (i = 0; i < rows.count; i++) {
		row = cause__words(rows.rows[i].cause, rows.rows[i].stack[0]);
		fprintf(out, LABEL "%s", units__number_text(rows.rows[i].sends, text), row->title);
		if (rows.rows[i].device[0])
			fprintf(out, ", %s", cause_rows__device(&rows, i, name, sizeof(name)));
		if (rows.rows[i].silent > 0 && rows.rows[i].silent < rows.rows[i].sends)
			fprintf(out, ", %s of them in silence",
				units__number_text(rows.rows[i].silent, text));
		if (rows.rows[i].skbs > 0)
			fprintf(out, "; %.0f %% of the packets inside the sends' own calls",
				100 * rows.rows[i].skbs_in_send / rows.rows[i].skbs);
		fprintf(out, "\n" LABEL "%s\n", "", row->meaning);
		if (rows.rows[i].stack[0])
			fprintf(out, LABEL "%s\n", "",
				safe_text(rows.rows[i].stack, words, sizeof(words)));
	}
}

/*
 * The three answers to "was it copied?". The first is lossy: the kernel joins the
 * notifications of neighbours and keeps the flag of the first.
 */
static void answers(const struct cell *cell, FILE *out)
{
	double told = 0, flagged = 0, silent = 0, unexplained = 0, bytes;
	bool told_known = cell__sum(cell, "/zerocopy/app_told_copied", &told);
	bool flagged_known = cell__sum(cell, "/zerocopy/copied_flagged", &flagged);
	bool silent_known = cell__sum(cell, "/zerocopy/copied_silent", &silent);
	char text[UNITS_TEXT_MAX];

	fprintf(out, LABEL "%s as the application read it\n", "told",
		told_known ? units__number_text(told, text) : "not known");
	fprintf(out, LABEL "%s by the kernel (", "flagged",
		flagged_known ? units__number_text(flagged, text) : "not known");
	if (print_hook(cell->records[0], "completion", out))
		fputs(", before notifications merge", out);
	fputs(")\n", out);
	fprintf(out, LABEL "%s copied without a flag", "silent",
		silent_known ? units__number_text(silent, text) : "not known how many");
	if (silent > 0 && cell__sum(cell, "/zerocopy/bytes_copied_silent", &bytes))
		fprintf(out, ", %s bytes", units__number_text(bytes, text));
	fputc('\n', out);
	if (cell__sum(cell, "/zerocopy/unexplained", &unexplained) && unexplained > 0)
		fprintf(out,
			LABEL "%s neither flagged nor seen to be copied, whose pages reached no "
			      "NIC\n",
			"unexplained", units__number_text(unexplained, text));
	if (told_known && flagged_known && told != flagged)
		fprintf(out,
			LABEL "the kernel joins notifications, and all of a record count as its "
			      "first%s\n",
			"told, flagged", told < flagged ? "; or not all was read" : "");
}

static void skb_copies(const struct cell *cell, FILE *out)
{
	char text[UNITS_TEXT_MAX];
	double n, bytes;

	if (!cell__sum(cell, "/zerocopy/skb_copies", &n) ||
	    !cell__sum(cell, "/zerocopy/skb_copy_bytes", &bytes) || n <= 0)
		return;
	fprintf(out, LABEL "%s", "copied", units__counted_text(bytes, "byte", text));
	fprintf(out, " in %s\n", units__counted_text(n, "packet", text));
}

static const char *refusal_words(const char *name)
{
	const struct refusal_row *row = refusal__find(name);

	return row ? row->meaning : name;
}

static void ignored(const struct cell *cell, FILE *out)
{
	char a[UNITS_TEXT_MAX], b[UNITS_TEXT_MAX];
	double all = 0, empty = 0;

	cell__sum(cell, "/zerocopy/ignored", &all);
	cell__sum(cell, "/zerocopy/ignored_empty", &empty);
	if (all > empty)
		fprintf(out, LABEL "%s because the socket lacks SO_ZEROCOPY", "ignored",
			units__number_text(all - empty, a));
	else if (empty > 0)
		fprintf(out, LABEL "%s of zero length", "ignored", units__number_text(empty, b));
	if (all > empty && empty > 0)
		fprintf(out, "; %s of zero length", units__number_text(empty, b));
	if (all > 0)
		fputc('\n', out);
}

static void refusals(const struct cell *cell, FILE *out)
{
	json_object *list, *row;
	char text[UNITS_TEXT_MAX];
	double n, outstanding;
	size_t i, j;

	for (i = 0; i < cell->count; i++) {
		list = record__at(cell->records[i], "/zerocopy/refused");
		for (j = 0; list && j < json_object_array_length(list); j++) {
			row = json_object_array_get_idx(list, j);
			n = 0;
			record__number(row, "/count", &n);
			fprintf(out, LABEL "%s, %s: %s\n", "refused", units__number_text(n, text),
				record__string(row, "/errno"),
				refusal_words(record__string(row, "/cause")));
		}
	}
	ignored(cell, out);
	if (cell__sum(cell, "/zerocopy/outstanding", &outstanding) && outstanding > 0)
		fprintf(out, LABEL "%s without a completion when the window closed\n",
			"outstanding", units__number_text(outstanding, text));
	if (cell__sum(cell, "/zerocopy/completions_before", &n) && n > 0)
		fprintf(out, LABEL "%s more completed, of sends from before the window\n",
			"earlier", units__number_text(n, text));
}

void text__copied(double copied, double completions, FILE *out)
{
	char a[UNITS_TEXT_MAX], b[UNITS_TEXT_MAX];

	if (copied > 0)
		fprintf(out, "%s of them copied (%s)", units__number_text(copied, a),
			units__percent_text(copied, completions, b));
	else
		fputs("none copied", out);
}

/* False where there is nothing more to say. */
static bool summary(const struct cell *cell, const char *title, FILE *out)
{
	double requests = 0, completions, copied;
	char a[UNITS_TEXT_MAX], b[UNITS_TEXT_MAX];

	cell__sum(cell, "/zerocopy/requests", &requests);
	if (!requests) {
		if (!record__at(cell->records[0], "/zerocopy/io_uring"))
			fprintf(out, "%s: no TCP send asked for zero-copy\n", title);
		return false;
	}
	if (!cell__sum(cell, "/zerocopy/completions", &completions) ||
	    !cell__sum(cell, "/zerocopy/copied", &copied)) {
		fprintf(out, "%s: %s asked for zero-copy; how many were copied is not known\n",
			title, units__counted_text(requests, "send", a));
		return true;
	}
	fprintf(out, "%s: %s asked for zero-copy, %s completed, ", title,
		units__counted_text(requests, "send", a), units__number_text(completions, b));
	text__copied(copied, completions, out);
	fputc('\n', out);
	return true;
}

void text__zerocopy(const struct cells *cells, FILE *out)
{
	char title[64];
	bool any = false;
	size_t i;

	for (i = 0; i < cells->count; i++) {
		if (!record__at(cells->cells[i].records[0], "/zerocopy"))
			continue;
		any = true;
		cell__title(&cells->cells[i], cells, title, sizeof(title));
		text__uring(&cells->cells[i], title, out);
		if (!summary(&cells->cells[i], title, out))
			continue;
		causes(&cells->cells[i], out);
		answers(&cells->cells[i], out);
		skb_copies(&cells->cells[i], out);
		refusals(&cells->cells[i], out);
		text__completion(&cells->cells[i], out);
	}
	if (any)
		fputc('\n', out);
}
