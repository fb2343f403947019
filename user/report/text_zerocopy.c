// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The fallback lines: how many zero-copy sends were copied, and who says so. */
#include "user/report/text.h"

#include "user/kernel/refusals.h"
#include "user/record/record_read.h"
#include "user/report/cause_rows.h"
#include "user/system/safe_text.h"

#include "loadgen/system/units.h"

#include <string.h>

#define LABEL "  %-14s "

static const char *count(double n, char text[UNITS_TEXT_MAX])
{
	return units__count_text((unsigned long long)n, text);
}

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
		fprintf(out, LABEL "%s", count(rows.rows[i].sends, text), row->title);
		if (rows.rows[i].device[0])
			fprintf(out, ", %s", cause_rows__device(&rows, i, name, sizeof(name)));
		if (rows.rows[i].silent > 0 && rows.rows[i].silent < rows.rows[i].sends)
			fprintf(out, ", %s of them in silence", count(rows.rows[i].silent, text));
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
		told_known ? count(told, text) : "not known");
	fprintf(out, LABEL "%s by the kernel (", "flagged",
		flagged_known ? count(flagged, text) : "not known");
	if (print_hook(cell->records[0], "completion", out))
		fputs(", before notifications merge", out);
	fputs(")\n", out);
	fprintf(out, LABEL "%s copied without a flag", "silent",
		silent_known ? count(silent, text) : "not known how many");
	if (silent > 0 && cell__sum(cell, "/zerocopy/bytes_copied_silent", &bytes))
		fprintf(out, ", %s bytes", count(bytes, text));
	fputc('\n', out);
	if (cell__sum(cell, "/zerocopy/unexplained", &unexplained) && unexplained > 0)
		fprintf(out,
			LABEL "%s neither flagged nor seen to be copied, whose pages reached no "
			      "NIC\n",
			"unexplained", count(unexplained, text));
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
	fprintf(out, LABEL "%s bytes", "copied", count(bytes, text));
	fprintf(out, " in %s packets\n", count(n, text));
}

static const char *refusal_words(const char *name)
{
	const struct refusal_row *row = refusal__find(name);

	return row ? row->meaning : name;
}

static void refusals(const struct cell *cell, FILE *out)
{
	json_object *list, *row;
	char text[UNITS_TEXT_MAX];
	double n, ignored, outstanding;
	size_t i, j;

	for (i = 0; i < cell->count; i++) {
		list = record__at(cell->records[i], "/zerocopy/refused");
		for (j = 0; list && j < json_object_array_length(list); j++) {
			row = json_object_array_get_idx(list, j);
			n = 0;
			record__number(row, "/count", &n);
			fprintf(out, LABEL "%s, %s: %s\n", "refused", count(n, text),
				record__string(row, "/errno"),
				refusal_words(record__string(row, "/cause")));
		}
	}
	if (cell__sum(cell, "/zerocopy/ignored", &ignored) && ignored > 0)
		fprintf(out, LABEL "%s, because the socket lacks SO_ZEROCOPY\n", "ignored",
			count(ignored, text));
	if (cell__sum(cell, "/zerocopy/outstanding", &outstanding) && outstanding != 0)
		fprintf(out, LABEL "%.0f without a completion when the window closed\n",
			"outstanding", outstanding);
}

/* False where there is nothing more to say. */
static bool summary(const struct cell *cell, const char *title, FILE *out)
{
	double requests = 0, completions, copied;
	char a[UNITS_TEXT_MAX], b[UNITS_TEXT_MAX], c[UNITS_TEXT_MAX];

	cell__sum(cell, "/zerocopy/requests", &requests);
	if (!requests) {
		if (!record__at(cell->records[0], "/zerocopy/io_uring"))
			fprintf(out, "%s: no send asked for zero-copy\n", title);
		return false;
	}
	if (!cell__sum(cell, "/zerocopy/completions", &completions) ||
	    !cell__sum(cell, "/zerocopy/copied", &copied)) {
		fprintf(out,
			"%s: %s sends asked for zero-copy; how many were copied is not known\n",
			title, count(requests, a));
		return true;
	}
	fprintf(out,
		"%s: %s sends asked for zero-copy, %s completed, %s of them copied (%.4g %%)\n",
		title, count(requests, a), count(completions, b), count(copied, c),
		completions > 0 ? 100 * copied / completions : 0);
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
