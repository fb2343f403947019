// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The counters of server and client, a row each: totals over the windows of all repeats. */
#include "user/report/text.h"

#include "user/record/record_read.h"
#include "user/report/table.h"

#include "loadgen/system/units.h"

#include <string.h>

/* The server stands where a stream has its sender. */
static const struct {
	const char *scope, *name, *user, *system;
} sides[] = {
	{"sender", "server", "/app/user_s", "/app/system_s"},
	{"receiver", "client", "/app/receiver/user_s", "/app/receiver/system_s"},
};

static const struct {
	const char *event, *head;
} columns[] = {
	{"context-switches", "switches"},   {"cpu-migrations", "migrations"},
	{"page-faults", "faults"},	    {"cycles", "cycles"},
	{"instructions", "instructions"},   {"stalled-cycles-frontend", "stalled front"},
	{"stalled-cycles-backend", "back"}, {"branches", "branches"},
	{"branch-misses", "misses"},
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static bool counted_anywhere(const struct cells *cells, const char *event)
{
	double value;
	size_t i, side;

	for (i = 0; i < cells->count; i++)
		for (side = 0; side < 2; side++)
			if (cell__counter(&cells->cells[i], sides[side].scope, event, NULL, &value))
				return true;
	return false;
}

static void seconds(struct table *t, const struct cell *cell, const char *path)
{
	char text[UNITS_TEXT_MAX];
	double value;

	if (cell__sum(cell, path, &value))
		table__cell(t, "%s", units__decimal_text(value, 3, text));
	else
		table__cell(t, "-");
}

static void clock_cells(struct table *t, const struct cell *cell, size_t side)
{
	char text[UNITS_TEXT_MAX];
	double clock, elapsed;

	if (!cell__counter(cell, sides[side].scope, "task-clock", NULL, &clock)) {
		table__cell(t, "-");
		table__cell(t, "-");
		return;
	}
	table__cell(t, "%s", units__decimal_text(clock / 1e6, 2, text));
	if (cell__sum(cell, "/app/elapsed_s", &elapsed) && elapsed > 0)
		table__cell(t, "%s", units__decimal_text(clock / 1e9 / elapsed, 3, text));
	else
		table__cell(t, "-");
}

static void ratio(struct table *t, const struct cell *cell, size_t side, const char *event,
		  const char *per, double scale)
{
	char text[UNITS_TEXT_MAX];
	double value, by;

	if (cell__counter(cell, sides[side].scope, event, NULL, &value) &&
	    cell__counter(cell, sides[side].scope, per, NULL, &by) && by > 0)
		table__cell(t, "%s", units__decimal_text(scale * value / by, 2, text));
	else
		table__cell(t, "-");
}

static void heads(struct table *t, const bool *shown, bool pmu)
{
	size_t i;

	table__row(t);
	table__cell(t, "counters");
	table__cell(t, "side");
	table__cell(t, "task-clock ms");
	table__cell(t, "CPUs");
	table__cell(t, "user s");
	table__cell(t, "system s");
	for (i = 0; i < COLUMNS; i++)
		if (shown[i])
			table__cell(t, "%s", columns[i].head);
	if (pmu) {
		table__cell(t, "IPC");
		table__cell(t, "miss %%");
	}
}

static void row(struct table *t, const struct cell *cell, size_t side, const bool *shown, bool pmu)
{
	char text[UNITS_TEXT_MAX];
	double value;
	size_t i;

	table__cell(t, "%s", sides[side].name);
	clock_cells(t, cell, side);
	seconds(t, cell, sides[side].user);
	seconds(t, cell, sides[side].system);
	for (i = 0; i < COLUMNS; i++) {
		if (!shown[i])
			continue;
		if (cell__counter(cell, sides[side].scope, columns[i].event, NULL, &value))
			table__cell(t, "%s", units__number_text(value, text));
		else
			table__cell(t, "-");
	}
	if (!pmu)
		return;
	ratio(t, cell, side, "instructions", "cycles", 1);
	ratio(t, cell, side, "branch-misses", "branches", 100);
}

void text__serving_counters(const struct cells *cells, FILE *out)
{
	bool shown[COLUMNS], pmu = counted_anywhere(cells, "cycles");
	struct table t = {};
	char title[64];
	size_t i, side;

	if (!record__at(cells->cells[0].records[0], "/counters"))
		return;
	for (i = 0; i < COLUMNS; i++)
		shown[i] = counted_anywhere(cells, columns[i].event);
	heads(&t, shown, pmu);
	for (i = 0; i < cells->count; i++) {
		for (side = 0; side < 2; side++) {
			cell__title(&cells->cells[i], cells, title, sizeof(title));
			table__row(&t);
			table__cell(&t, "%s", side ? "" : title);
			row(&t, &cells->cells[i], side, shown, pmu);
		}
	}
	table__print(&t, out);
	text__uncounted(cells, out);
	fputc('\n', out);
}
