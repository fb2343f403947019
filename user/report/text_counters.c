// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Counters, a row a side of each cell: totals over the windows of all repeats, then ratios. */
#include "user/report/text.h"

#include "user/report/record_read.h"
#include "user/report/table.h"

#include "common/units.h"

#include <string.h>

/* A load has two sides, an observed command one. A server stands where a stream has its sender. */
struct side {
	const char *scope, *name, *app;
};
static const struct side command[] = {{"command", "command", NULL}, {}};
static const struct side stream[] = {
	{"sender", "sender", "/app"}, {"receiver", "receiver", "/app/receiver"}, {}};
static const struct side serving[] = {
	{"sender", "server", "/app"}, {"receiver", "client", "/app/receiver"}, {}};

static const struct side *sides_of(const struct cells *cells)
{
	return cells__serving(cells)		     ? serving
	       : cell__at(&cells->cells[0], "/load") ? stream
						     : command;
}

struct row {
	const struct cell *cell;
	const struct side *side;
};

static const char *title(const void *row, const struct column *column)
{
	const struct row *r = row;

	(void)column;
	return r->side == sides_of(r->cell->all) ? r->cell->title : "";
}

static const char *side_name(const void *row, const struct column *column)
{
	(void)column;
	return ((const struct row *)row)->side->name;
}

/* path is the event, per its PMU. */
static const char *counter(const void *row, const struct column *column)
{
	const struct row *r = row;
	double value;

	if (!cell__counter(r->cell, r->side->scope, column->path, column->per, &value))
		return NULL;
	return column->decimals ? units__decimal_text(value / column->unit, column->decimals)
				: units__number_text(value);
}

/* One event over another, or over bytes where per is NULL. */
static const char *ratio(const void *row, const struct column *column)
{
	const struct row *r = row;
	double value, by;
	bool known = cell__counter(r->cell, r->side->scope, column->path, NULL, &value) &&
		     (column->per ? cell__counter(r->cell, r->side->scope, column->per, NULL, &by)
				  : cell__sum(r->cell, "/app/received_bytes", &by));

	return known && by > 0 ? units__figure_text(column->unit * value / by, 3) : NULL;
}

static const char *seconds(const void *row, const struct column *column)
{
	const struct row *r = row;
	char path[64];
	double value;

	snprintf(path, sizeof(path), "%s%s", r->side->app, column->path);
	return cell__sum(r->cell, path, &value) ? units__decimal_text(value, 3) : NULL;
}

static const struct column derived[] = {
	{"IPC", ratio, .path = "instructions", .per = "cycles", .unit = 1},
	{"cycles/byte", ratio, .path = "cycles", .unit = 1},
	{"instr./byte", ratio, .path = "instructions", .unit = 1},
	{"miss %", ratio, .path = "branch-misses", .per = "branches", .unit = 100},
	{"user s", seconds, .path = "/user_s"},
	{"system s", seconds, .path = "/system_s"},
};

static bool is_counted(const struct cells *cells, const char *event, const char *pmu)
{
	const struct side *side;
	double value;
	size_t i;

	for (i = 0; i < cells->count; i++)
		for (side = sides_of(cells); side->scope; side++)
			if (cell__counter(&cells->cells[i], side->scope, event, pmu, &value))
				return true;
	return false;
}

/* Of the first side: whether any side has counted it. */
static bool is_counter(const struct cells *cells, json_object *counter, bool counted)
{
	return !strcmp(record__string(counter, "/scope"), sides_of(cells)->scope) &&
	       is_counted(cells, record__string(counter, "/event"),
			  record__string(counter, "/pmu")) == counted;
}

static struct column head(struct table *t, json_object *o)
{
	bool is_time = !strcmp(record__string(o, "/unit"), "ns");
	const char *event = record__string(o, "/event"), *pmu = record__string(o, "/pmu");

	table__cell(t, "%s%s%s%s", event, pmu[0] && strcmp(pmu, "cpu") ? " " : "",
		    strcmp(pmu, "cpu") ? pmu : "", is_time ? " ms" : "");
	return (struct column){
		.text = counter, .path = event, .per = pmu, .unit = 1e6, .decimals = is_time};
}

/* The counters in the record's order, then what follows from them. Returns how many columns. */
static size_t heads(struct table *t, const struct cells *cells, struct column *columns)
{
	json_object *record = cells->cells[0].records[0], *o;
	size_t i, count = 0;

	table__row(t);
	table__cell(t, "counters");
	columns[count++] = (struct column){.text = title};
	table__cell(t, "side");
	columns[count++] = (struct column){.text = side_name};
	for (i = 0; (o = record__row(record, "/counters", i)) && count < TABLE_COLUMNS; i++)
		if (is_counter(cells, o, true))
			columns[count++] = head(t, o);
	for (i = 0; i < sizeof(derived) / sizeof(derived[0]) && count < TABLE_COLUMNS; i++) {
		if (derived[i].text == seconds ? !sides_of(cells)->app
					       : !is_counted(cells, derived[i].path, NULL))
			continue;
		table__cell(t, "%s", derived[i].head);
		columns[count++] = derived[i];
	}
	return count;
}

/* One line for each reason, with all that it keeps from being counted. */
static void uncounted(const struct cells *cells, FILE *out)
{
	json_object *record = cells->cells[0].records[0], *first, *other;
	size_t i, j;

	for (i = 0; (first = record__row(record, "/counters", i)); i++) {
		bool begun = false;

		for (j = 0; (other = record__row(record, "/counters", j)); j++) {
			if (!is_counter(cells, first, false) || !is_counter(cells, other, false) ||
			    strcmp(record__string(first, "/reason"),
				   record__string(other, "/reason")))
				continue;
			if (j < i)
				break; /* said with that one */
			if (!begun)
				fprintf(out, "%s, %s:", record__string(first, "/status"),
					record__string(first, "/reason"));
			begun = true;
			fprintf(out, " %s", record__string(other, "/event"));
		}
		fputs(begun ? "\n" : "", out);
	}
}

void text__counters(const struct cells *cells, FILE *out)
{
	struct column columns[TABLE_COLUMNS];
	struct table t = {.keys = 2};
	struct row row;
	size_t count;

	if (!cell__at(&cells->cells[0], "/counters"))
		return;
	count = heads(&t, cells, columns);
	for (row.cell = cells->cells; row.cell < cells->cells + cells->count; row.cell++)
		for (row.side = sides_of(cells); row.side->scope; row.side++)
			table__data(&t, columns, count, 0, &row);
	table__print(&t, out);
	uncounted(cells, out);
	fputc('\n', out);
}
