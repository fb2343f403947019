// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The text report: the answer first, then what it rests on, in 80 columns. */
#include "user/report/report.h"

#include "user/report/table.h"
#include "user/report/text.h"
#include "user/system/log.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct text_report {
	struct cells cells;
	FILE *out;
	enum text_extent extent;
};

static int add(void *state, json_object *record)
{
	return cells__add(&((struct text_report *)state)->cells, record);
}

static void print_table(const struct cells *cells, FILE *out)
{
	if (cells__serving(cells))
		text__serving(cells, out);
	else if (cell__at(&cells->cells[0], "/load"))
		text__comparison(cells, out);
	else
		text__observed(cells, out);
}

static void print_report(const struct cells *cells, enum text_extent extent, FILE *out)
{
	bool detailed = cells->count <= DETAILED_MAX;

	text__losses(cells, out);
	text__headline(cells, out);
	text__verdict(cells, out);
	print_table(cells, out);
	if (extent == TEXT_SUMMARY) {
		text__memory(cells, out);
		return;
	}
	text__failures(cells, out);
	if (detailed)
		text__sizes(cells, out);
	text__groups(cells, out);
	if (detailed)
		text__zerocopy(cells, out);
	text__stages(cells, out);
	if (detailed || extent == TEXT_HISTOGRAMS)
		text__histograms(cells, out);
	if (extent == TEXT_HISTOGRAMS)
		text__stage_histograms(cells, out);
	if (detailed || cells__serving(cells))
		text__counters(cells, out);
	if (detailed)
		text__tcp(cells, out);
	text__memory(cells, out);
	text__overhead(cells, out);
	text__notes(cells, out);
}

/* Below the text after a label, or two columns right of the line's begin. */
static size_t hanging_indent(const char *line, size_t length)
{
	size_t begin = strspn(line, " "), i;

	for (i = begin; begin && begin < 10 && i + 2 < length && i < 20; i++)
		if (line[i] == ' ' && line[i + 1] == ' ')
			return i + strspn(line + i, " ");
	return begin < 10 ? begin + 2 : begin;
}

/* Where a line of so much room ends: at a space, but not behind a number if another is near. */
static size_t find_cut(const char *line, size_t room)
{
	size_t cut, any = 0;

	for (cut = room; cut > 0 && cut + 30 > room; cut--) {
		if (line[cut] != ' ')
			continue;
		if (!isdigit((unsigned char)line[cut - 1]))
			return cut;
		any = any ? any : cut;
	}
	for (; !any && cut > 0; cut--)
		any = line[cut] == ' ' ? cut : 0;
	return any;
}

/* Breaks it between words where it is longer than a line. */
static void print_line(const char *line, size_t length, FILE *out)
{
	size_t indent = hanging_indent(line, length), room = TABLE_WIDTH, cut;

	while (length > room) {
		cut = find_cut(line, room);
		if (!cut || strspn(line, " ") >= cut) /* a word longer than a line */
			break;
		fprintf(out, "%.*s\n%*s", (int)cut, line, (int)indent, "");
		line += cut + 1;
		length -= cut + 1;
		room = TABLE_WIDTH - indent;
	}
	fprintf(out, "%.*s", (int)length, line);
}

static const char *style_of(const char *line)
{
	return *line == *BOLD			? "\033[1m"
	       : !strncmp(line, "LOST: ", 6)	? "\033[1;31m"
	       : !strncmp(line, "warning: ", 9) ? "\033[33m"
						: NULL;
}

static void print_lines(const char *text, FILE *out)
{
	bool colour = isatty(fileno(out)) && !getenv("NO_COLOR");
	const char *style;
	size_t length;

	for (; *text; text += length + 1) {
		style = colour ? style_of(text) : NULL;
		text += *text == *BOLD;
		length = strcspn(text, "\n");
		fputs(style ? style : "", out);
		print_line(text, length, out);
		fputs(style ? "\033[0m\n" : "\n", out);
	}
}

int report_text__print(struct cells *cells, enum text_extent extent, FILE *out)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	int err = stream ? 0 : -errno;

	if (err)
		return err;
	cells__name(cells);
	print_report(cells, extent, stream);
	if (fclose(stream))
		err = -errno;
	else
		print_lines(text, out);
	free(text);
	return err;
}

static int finish(void *state)
{
	struct text_report *report = state;
	int err = report->cells.count
			  ? report_text__print(&report->cells, report->extent, report->out)
			  : 0;

	if (err)
		log_error("the report: %s", strerror(-err));
	cells__free(&report->cells);
	free(report);
	return err;
}

static const struct reporter reporter = {add, finish};

int report_text__open(struct report *report, FILE *out, enum text_extent extent)
{
	struct text_report *text = calloc(1, sizeof(*text));

	report->reporter = &reporter;
	report->state = text;
	if (!text)
		return -ENOMEM;
	text->out = out;
	text->extent = extent;
	return 0;
}
