// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The fallback lines: how many zero-copy sends were copied, and who says so. */
#include "text.h"

#include "record_read.h"

#include "loadgen/units.h"

#include <string.h>

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

static void told(const struct cell *cell, FILE *out)
{
	char text[UNITS_TEXT_MAX];
	double n;

	if (cell__sum(cell, "/zerocopy/app_told_copied", &n))
		fprintf(out, "  The application was told: %s copied.", count(n, text));
	else
		fputs("  What the application was told is not known.", out);
	fputs(" Counted at: ", out);
	if (print_hook(cell->records[0], "completion", out))
		fputs(", before notifications merge", out);
	fputs(".\n", out);
}

static void skb_copies(const struct cell *cell, FILE *out)
{
	char text[UNITS_TEXT_MAX];
	double n, bytes;

	if (!cell__sum(cell, "/zerocopy/skb_copies", &n) ||
	    !cell__sum(cell, "/zerocopy/skb_copy_bytes", &bytes))
		return;
	fprintf(out, "  The kernel replaced user pages in %s skbs, ", count(n, text));
	fprintf(out, "%s bytes (", count(bytes, text));
	print_hook(cell->records[0], "skb copy", out);
	fputs(").\n", out);
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
			fprintf(out, "  refused: %s (%s, %s)\n", count(n, text),
				record__string(row, "/errno"), record__string(row, "/cause"));
		}
	}
	if (cell__sum(cell, "/zerocopy/ignored", &ignored) && ignored > 0)
		fprintf(out, "  ignored, because the socket lacks SO_ZEROCOPY: %s\n",
			count(ignored, text));
	if (cell__sum(cell, "/zerocopy/outstanding", &outstanding) && outstanding != 0)
		fprintf(out, "  without a completion when the window closed: %.0f\n", outstanding);
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
	if (completions > 0 && copied == completions &&
	    !strcmp(record__string(cell->records[0], "/load/link"), "loopback"))
		fputs("  Loopback: the kernel copies what a socket on the same machine is to get. "
		      "Zero-copy cannot help here.\n",
		      out);
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
		told(&cells->cells[i], out);
		skb_copies(&cells->cells[i], out);
		refusals(&cells->cells[i], out);
	}
	if (any)
		fputc('\n', out);
}
