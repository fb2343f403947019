// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report.h"

#include "cells.h"
#include "log.h"
#include "record_read.h"
#include "text.h"

#include "loadgen/hist_stats.h"
#include "loadgen/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct text_report {
	struct cells cells;
	FILE *out;
};

static struct cell *find_cell(struct cells *cells, const char *name)
{
	size_t i;

	for (i = 0; i < cells->count; i++)
		if (!strcmp(record__string(cells->cells[i].records[0], "/run/cell"), name))
			return &cells->cells[i];
	return NULL;
}

static int add(void *state, json_object *record)
{
	struct cells *cells = &((struct text_report *)state)->cells;
	struct cell *cell = find_cell(cells, record__string(record, "/run/cell"));
	void *grown;

	if (!cell) {
		grown = reallocarray(cells->cells, cells->count + 1, sizeof(*cells->cells));
		if (!grown)
			return -ENOMEM;
		cells->cells = grown;
		cell = &cells->cells[cells->count];
		*cell = (struct cell){};
	}
	grown = reallocarray(cell->records, cell->count + 1, sizeof(*cell->records));
	if (!grown)
		return -ENOMEM;
	cell->records = grown;
	cell->records[cell->count++] = json_object_get(record);
	if (cell == &cells->cells[cells->count])
		cells->count++;
	return 0;
}

/* The machine, and by what it was measured. */
static void headline(json_object *r, FILE *out)
{
	double cpus = 0;

	record__number(r, "/host/nproc", &cpus);
	fprintf(out, "sendpath %s | Linux %s %s | %.0f CPUs%s%s | %s\n",
		record__string(r, "/tool/version"), record__string(r, "/host/kernel"),
		record__string(r, "/host/arch"), cpus,
		json_object_get_boolean(record__at(r, "/host/virtualized")) ? ", virtual machine"
									    : "",
		record__at(r, "/host/pmu") ? "" : ", no PMU",
		record__at(r, "/plan/tier") ? record__string(r, "/plan/tier") : "not traced");
}

/* The load, as far as all cells have it in common. */
static void load_line(const struct cells *cells, FILE *out)
{
	json_object *r = cells->cells[0].records[0];
	double bytes = 0, fields = 0, threads = 0, seconds = 0, messages = 0;
	char size[UNITS_TEXT_MAX];

	record__number(r, "/load/message_bytes", &bytes);
	record__number(r, "/load/fields", &fields);
	record__number(r, "/load/threads", &threads);
	fprintf(out, "%.0f field%s", fields, fields == 1 ? "" : "s");
	if (!cells__vary(cells, "/load/message_bytes"))
		fprintf(out, " = %s a message", units__size_text((size_t)bytes, size));
	if (!strcmp(record__string(r, "/load/workload"), "request"))
		fputs(" | each asked for", out);
	if (!cells__vary(cells, "/load/threads"))
		fprintf(out, " | %.0f thread%s", threads, threads == 1 ? "" : "s");
	fprintf(out, " | %s",
		record__at(r, "/load/link") ? record__string(r, "/load/link")
					    : record__string(r, "/load/address"));
	if (record__number(r, "/load/duration_s", &seconds))
		fprintf(out, " | %g s each", seconds);
	else if (record__number(r, "/load/messages_per_thread", &messages))
		fprintf(out, " | %s messages a thread each",
			units__count_text((unsigned long long)messages, size));
	if (cells->cells[0].count > 1)
		fprintf(out, ", %zu repeats interleaved", cells->cells[0].count);
	fputs("\n\n", out);
}

static bool serving(const struct cells *cells)
{
	return !strcmp(record__string(cells->cells[0].records[0], "/load/workload"), "procinfo");
}

static void free_cells(struct cells *cells)
{
	size_t i, j;

	for (i = 0; i < cells->count; i++) {
		for (j = 0; j < cells->cells[i].count; j++)
			json_object_put(cells->cells[i].records[j]);
		free(cells->cells[i].records);
	}
	free(cells->cells);
}

static int finish(void *state)
{
	struct text_report *report = state;
	struct cells *cells = &report->cells;
	FILE *out = report->out;
	int err = 0;

	if (cells->count) {
		text__losses(cells, out);
		headline(cells->cells[0].records[0], out);
		if (serving(cells)) {
			text__serving(cells, out);
		} else if (record__at(cells->cells[0].records[0], "/load")) {
			load_line(cells, out);
			text__comparison(cells, out);
		} else {
			text__observed(cells, out);
		}
		text__groups(cells, out);
		text__zerocopy(cells, out);
		text__histograms(cells, out);
		text__tcp(cells, out);
		if (serving(cells))
			text__serving_counters(cells, out);
		else
			text__counters(cells, out);
		text__notes(cells, out);
		text__verdict(cells, out);
	}
	if (fflush(out) || ferror(out)) {
		err = -EIO;
		log_error("the report could not be written to %s",
			  out == stderr ? "standard error" : "standard output");
	}
	free_cells(cells);
	free(report);
	return err;
}

static const struct reporter reporter = {add, finish};

int report_text__open(struct report *report, FILE *out)
{
	struct text_report *text = calloc(1, sizeof(*text));

	report->reporter = &reporter;
	report->state = text;
	if (!text)
		return -ENOMEM;
	text->out = out;
	return 0;
}
