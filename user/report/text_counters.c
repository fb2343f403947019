// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Counters, a column a side: totals over the windows of all repeats, then ratios. */
#include "user/report/text.h"

#include "user/record/record_read.h"
#include "user/report/table.h"

#include "common/units.h"

#include <string.h>

#define CELLS_MAX 4

/* A load has two sides, an observed command one. */
static size_t side_count(const struct cells *cells)
{
	return record__at(cells->cells[0].records[0], "/load") ? 2 : 1;
}

static const char *side_name(const struct cells *cells, size_t side)
{
	if (side_count(cells) == 1)
		return "command";
	return side ? "receiver" : "sender";
}

static bool counted_anywhere(const struct cells *cells, const char *event, const char *pmu)
{
	double value;
	size_t i, side;

	for (i = 0; i < cells->count; i++)
		for (side = 0; side < side_count(cells); side++)
			if (cell__counter(&cells->cells[i], side_name(cells, side), event, pmu,
					  &value))
				return true;
	return false;
}

static void row(struct table *t, const struct cells *cells, json_object *counter)
{
	const char *event = record__string(counter, "/event"),
		   *pmu = record__string(counter, "/pmu");
	char text[UNITS_TEXT_MAX];
	double value;
	size_t i, side;

	if (!counted_anywhere(cells, event, pmu))
		return;
	table__row(t);
	table__cell(t, "%s%s%s%s", event, strcmp(pmu, "") && strcmp(pmu, "cpu") ? " " : "",
		    strcmp(pmu, "cpu") ? pmu : "",
		    strcmp(record__string(counter, "/unit"), "ns") ? "" : " ms");
	for (i = 0; i < cells->count; i++) {
		for (side = 0; side < side_count(cells); side++) {
			if (!cell__counter(&cells->cells[i], side_name(cells, side), event, pmu,
					   &value))
				table__cell(t, "-");
			else if (!strcmp(record__string(counter, "/unit"), "ns"))
				table__cell(t, "%s", units__decimal_text(value / 1e6, 1, text));
			else
				table__cell(t, "%s", units__number_text(value, text));
		}
	}
}

/* One event over another, or over bytes where per is NULL. */
static void ratio(struct table *t, const struct cells *cells, const char *name, const char *event,
		  const char *per)
{
	char text[UNITS_TEXT_MAX];
	double value, by;
	size_t i, side;

	if (!counted_anywhere(cells, event, NULL) || (per && !counted_anywhere(cells, per, NULL)))
		return;
	table__row(t);
	table__cell(t, "%s", name);
	for (i = 0; i < cells->count; i++) {
		for (side = 0; side < side_count(cells); side++) {
			if (cell__counter(&cells->cells[i], side_name(cells, side), event, NULL,
					  &value) &&
			    (per ? cell__counter(&cells->cells[i], side_name(cells, side), per,
						 NULL, &by)
				 : cell__sum(&cells->cells[i], "/app/received_bytes", &by)) &&
			    by > 0)
				table__cell(t, "%s", units__figure_text(value / by, 3, text));
			else
				table__cell(t, "-");
		}
	}
}

static void heads(struct table *t, const struct cells *cells)
{
	char title[64];
	size_t i;

	table__row(t);
	table__cell(t, "counters");
	for (i = 0; i < cells->count; i++) {
		cell__title(&cells->cells[i], cells, title, sizeof(title));
		table__cell(t, "%.30s %s", title, side_name(cells, 0));
		if (side_count(cells) > 1)
			table__cell(t, "%s", side_name(cells, 1));
	}
}

static bool uncounted(const struct cells *cells, json_object *counter)
{
	return !strcmp(record__string(counter, "/scope"), side_name(cells, 0)) &&
	       !counted_anywhere(cells, record__string(counter, "/event"),
				 record__string(counter, "/pmu"));
}

/* One line for each reason, with all that it keeps from being counted. */
void text__uncounted(const struct cells *cells, FILE *out)
{
	json_object *list = record__at(cells->cells[0].records[0], "/counters"), *o, *other;
	const char *reason;
	size_t i, j;

	for (i = 0; list && i < json_object_array_length(list); i++) {
		o = json_object_array_get_idx(list, i);
		reason = record__string(o, "/reason");
		if (!uncounted(cells, o))
			continue;
		for (j = 0; j < i; j++) {
			other = json_object_array_get_idx(list, j);
			if (uncounted(cells, other) &&
			    !strcmp(record__string(other, "/reason"), reason))
				break;
		}
		if (j < i)
			continue; /* said with that one */
		fprintf(out, "%s, %s:", record__string(o, "/status"), reason);
		for (j = i; j < json_object_array_length(list); j++) {
			other = json_object_array_get_idx(list, j);
			if (uncounted(cells, other) &&
			    !strcmp(record__string(other, "/reason"), reason))
				fprintf(out, " %s", record__string(other, "/event"));
		}
		fputc('\n', out);
	}
}

void text__counters(const struct cells *cells, FILE *out)
{
	json_object *list = record__at(cells->cells[0].records[0], "/counters"), *counter;
	struct table t = {};
	size_t i;

	if (!list || cells->count > CELLS_MAX)
		return;
	heads(&t, cells);
	for (i = 0; i < json_object_array_length(list); i++) {
		counter = json_object_array_get_idx(list, i);
		if (!strcmp(record__string(counter, "/scope"), side_name(cells, 0)))
			row(&t, cells, counter);
	}
	ratio(&t, cells, "cycles per byte", "cycles", NULL);
	ratio(&t, cells, "instructions per byte", "instructions", NULL);
	ratio(&t, cells, "instructions per cycle", "instructions", "cycles");
	table__print(&t, out);
	text__uncounted(cells, out);
	fputc('\n', out);
}
