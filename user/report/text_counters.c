// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Counters, a row a side of each cell: totals over the windows of all repeats, then ratios. */
#include "user/report/text.h"

#include "user/record/record_read.h"
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

/* One event over another, or over bytes where per is NULL. */
static const struct {
	const char *name, *event, *per;
	double scale;
} ratios[] = {
	{"IPC", "instructions", "cycles", 1},
	{"cycles/byte", "cycles", NULL, 1},
	{"instr./byte", "instructions", NULL, 1},
	{"miss %", "branch-misses", "branches", 100},
};
#define RATIOS (sizeof(ratios) / sizeof(ratios[0]))

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

/* The counters of the first side that any side has counted, in the record's order. */
static json_object *next_counter(const struct cells *cells, size_t *i)
{
	json_object *counter;

	while ((counter = record__row(cells->cells[0].records[0], "/counters", (*i)++)))
		if (!strcmp(record__string(counter, "/scope"), sides_of(cells)->scope) &&
		    is_counted(cells, record__string(counter, "/event"),
			       record__string(counter, "/pmu")))
			return counter;
	return NULL;
}

static void heads(struct table *t, const struct cells *cells)
{
	json_object *counter;
	const char *pmu;
	size_t i = 0;

	table__row(t);
	table__cell(t, "counters");
	table__cell(t, "side");
	while ((counter = next_counter(cells, &i))) {
		pmu = record__string(counter, "/pmu");
		table__cell(t, "%s%s%s%s", record__string(counter, "/event"),
			    pmu[0] && strcmp(pmu, "cpu") ? " " : "", strcmp(pmu, "cpu") ? pmu : "",
			    strcmp(record__string(counter, "/unit"), "ns") ? "" : " ms");
	}
	for (i = 0; i < RATIOS; i++)
		if (is_counted(cells, ratios[i].event, NULL))
			table__cell(t, "%s", ratios[i].name);
	if (sides_of(cells)->app) {
		table__cell(t, "user s");
		table__cell(t, "system s");
	}
}

static void counter_cell(struct table *t, const struct cell *cell, const struct side *side,
			 json_object *counter)
{
	double value;

	if (!cell__counter(cell, side->scope, record__string(counter, "/event"),
			   record__string(counter, "/pmu"), &value))
		table__cell(t, "-");
	else if (!strcmp(record__string(counter, "/unit"), "ns"))
		table__cell(t, "%s", units__decimal_text(value / 1e6, 1));
	else
		table__cell(t, "%s", units__number_text(value));
}

static void ratio_cell(struct table *t, const struct cell *cell, const struct side *side, size_t i)
{
	double value, by;

	if (cell__counter(cell, side->scope, ratios[i].event, NULL, &value) &&
	    (ratios[i].per ? cell__counter(cell, side->scope, ratios[i].per, NULL, &by)
			   : cell__sum(cell, "/app/received_bytes", &by)) &&
	    by > 0)
		table__cell(t, "%s", units__figure_text(ratios[i].scale * value / by, 3));
	else
		table__cell(t, "-");
}

static void seconds_cell(struct table *t, const struct cell *cell, const struct side *side,
			 const char *key)
{
	char path[64];
	double value;

	snprintf(path, sizeof(path), "%s%s", side->app, key);
	table__cell(t, "%s", cell__sum(cell, path, &value) ? units__decimal_text(value, 3) : "-");
}

static void row(struct table *t, const struct cell *cell, const struct side *side)
{
	json_object *counter;
	size_t i = 0;

	table__row(t);
	table__cell(t, "%s", side == sides_of(cell->all) ? cell->title : "");
	table__cell(t, "%s", side->name);
	while ((counter = next_counter(cell->all, &i)))
		counter_cell(t, cell, side, counter);
	for (i = 0; i < RATIOS; i++)
		if (is_counted(cell->all, ratios[i].event, NULL))
			ratio_cell(t, cell, side, i);
	if (side->app) {
		seconds_cell(t, cell, side, "/user_s");
		seconds_cell(t, cell, side, "/system_s");
	}
}

static bool is_uncounted(const struct cells *cells, json_object *counter)
{
	return !strcmp(record__string(counter, "/scope"), sides_of(cells)->scope) &&
	       !is_counted(cells, record__string(counter, "/event"),
			   record__string(counter, "/pmu"));
}

/* One line for each reason, with all that it keeps from being counted. */
static void uncounted(const struct cells *cells, FILE *out)
{
	json_object *record = cells->cells[0].records[0], *first, *other;
	size_t i, j;

	for (i = 0; (first = record__row(record, "/counters", i)); i++) {
		bool begun = false;

		for (j = 0; (other = record__row(record, "/counters", j)); j++) {
			if (!is_uncounted(cells, first) || !is_uncounted(cells, other) ||
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
	const struct side *side;
	struct table t = {.keys = 2};
	size_t i;

	if (!cell__at(&cells->cells[0], "/counters"))
		return;
	heads(&t, cells);
	for (i = 0; i < cells->count; i++)
		for (side = sides_of(cells); side->scope; side++)
			row(&t, &cells->cells[i], side);
	table__print(&t, out);
	uncounted(cells, out);
	fputc('\n', out);
}
