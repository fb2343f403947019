// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The counters of server and client, a row each: totals over the windows of all repeats. */
#include "user/report/text.h"

#include "user/record/record_read.h"
#include "user/report/table.h"

#include "common/units.h"

#include <string.h>

/* The server stands where a stream has its sender. */
static const struct {
	const char *scope, *name, *app;
} sides[] = {{"sender", "server", "/app"}, {"receiver", "client", "/app/receiver"}};

struct row {
	const struct cell *cell;
	const char *title;
	size_t side;
};

static bool counted(const struct row *row, const char *event, double *value)
{
	return cell__counter(row->cell, sides[row->side].scope, event, NULL, value);
}

static void title(const void *row, const struct column *column, char text[TABLE_CELL])
{
	const struct row *r = row;

	(void)column;
	snprintf(text, TABLE_CELL, "%s", r->side ? "" : r->title);
}

static void side_name(const void *row, const struct column *column, char text[TABLE_CELL])
{
	(void)column;
	strcpy(text, sides[((const struct row *)row)->side].name);
}

static void clock_ms(const void *row, const struct column *column, char text[TABLE_CELL])
{
	double clock;

	if (counted(row, column->path, &clock))
		units__decimal_text(clock / 1e6, 2, text);
}

static void cpus(const void *row, const struct column *column, char text[TABLE_CELL])
{
	const struct row *r = row;
	double clock, elapsed;

	if (counted(r, column->path, &clock) && cell__sum(r->cell, "/app/elapsed_s", &elapsed) &&
	    elapsed > 0)
		units__decimal_text(clock / 1e9 / elapsed, 3, text);
}

static void seconds(const void *row, const struct column *column, char text[TABLE_CELL])
{
	const struct row *r = row;
	char path[64];
	double value;

	snprintf(path, sizeof(path), "%s%s", sides[r->side].app, column->path);
	if (cell__sum(r->cell, path, &value))
		units__decimal_text(value, 3, text);
}

static void count(const void *row, const struct column *column, char text[TABLE_CELL])
{
	double value;

	if (counted(row, column->path, &value))
		units__number_text(value, text);
}

static void ratio(const void *row, const struct column *column, char text[TABLE_CELL])
{
	double value, by;

	if (counted(row, column->path, &value) && counted(row, column->per, &by) && by > 0)
		units__decimal_text(column->unit * value / by, 2, text);
}

/* Events are shown where they were counted anywhere, the ratios where cycles were. */
enum { CYCLES = 8 };
static const struct column columns[] = {
	{"counters", .write = title},
	{"side", .write = side_name},
	{"task-clock ms", clock_ms, .path = "task-clock"},
	{"CPUs", cpus, .path = "task-clock"},
	{"user s", seconds, .path = "/user_s"},
	{"system s", seconds, .path = "/system_s"},
	{"switches", count, .path = "context-switches", .when = 1},
	{"migrations", count, .path = "cpu-migrations", .when = 2},
	{"faults", count, .path = "page-faults", .when = 4},
	{"cycles", count, .path = "cycles", .when = CYCLES},
	{"instructions", count, .path = "instructions", .when = 16},
	{"stalled front", count, .path = "stalled-cycles-frontend", .when = 32},
	{"back", count, .path = "stalled-cycles-backend", .when = 64},
	{"branches", count, .path = "branches", .when = 128},
	{"misses", count, .path = "branch-misses", .when = 256},
	{"IPC", ratio, .path = "instructions", .per = "cycles", .unit = 1, .when = CYCLES},
	{"miss %", ratio, .path = "branch-misses", .per = "branches", .unit = 100, .when = CYCLES},
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static unsigned int counted_columns(const struct cell *cell)
{
	struct row row = {.cell = cell};
	unsigned int shown = 0;
	double value;
	size_t i;

	for (row.side = 0; row.side < 2; row.side++)
		for (i = 0; i < COLUMNS; i++)
			if (columns[i].write == count && counted(&row, columns[i].path, &value))
				shown |= columns[i].when;
	return shown;
}

void text__serving_counters(const struct cells *cells, FILE *out)
{
	unsigned int shown = 0;
	struct table t = {};
	struct row row;
	char name[64];
	size_t i;

	if (!record__at(cells->cells[0].records[0], "/counters"))
		return;
	for (i = 0; i < cells->count; i++)
		shown |= counted_columns(&cells->cells[i]);
	table__heads(&t, columns, COLUMNS, shown);
	for (i = 0; i < cells->count; i++) {
		cell__title(&cells->cells[i], cells, name, sizeof(name));
		for (row = (struct row){&cells->cells[i], name, 0}; row.side < 2; row.side++)
			table__data(&t, columns, COLUMNS, shown, &row);
	}
	table__print(&t, out);
	text__uncounted(cells, out);
	fputc('\n', out);
}
