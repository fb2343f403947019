// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One row a cell: what the ways of sending cost, side by side. */
#include "user/report/text.h"

#include "user/record/record_read.h"
#include "user/report/table.h"

#include "loadgen/system/hist_stats.h"
#include "loadgen/system/units.h"

#include <stdlib.h>
#include <string.h>

#define GIB 1073741824.0

static void throughput(struct table *t, const struct cell *cell, bool ranges)
{
	double *values = calloc(cell->count, sizeof(*values)), middle;
	char low[UNITS_TEXT_MAX], high[UNITS_TEXT_MAX];
	size_t i, count = 0;

	for (i = 0; values && i < cell->count; i++)
		if (record__number(cell->records[i], "/app/throughput_bps", &values[count]))
			count++;
	middle = median(values, count); /* sorts them */
	if (count)
		table__cell(t, "%s", units__decimal_text(middle / 1e9, 2, low));
	else
		table__cell(t, "-");
	if (ranges && count)
		table__cell(t, "(%s-%s)", units__decimal_text(values[0] / 1e9, 2, low),
			    units__decimal_text(values[count - 1] / 1e9, 2, high));
	else if (ranges)
		table__cell(t, "-");
	free(values);
}

static void kernel_time(struct table *t, const struct cell *cell)
{
	static const unsigned int per_mille[] = {500, 990, 999};
	char text[UNITS_TEXT_MAX];
	struct hist h;
	size_t i;

	if (!cell__wall(cell, &h)) {
		for (i = 0; i < 3; i++)
			table__cell(t, "-");
		return;
	}
	for (i = 0; i < 3; i++)
		table__cell(t, "%s",
			    units__decimal_text((double)hist__percentile(&h, per_mille[i]) / 1e3, 2,
						text));
}

/* From asking to the last byte, of a load that is asked for. */
static void answer_time(struct table *t, const struct cell *cell)
{
	char p50[UNITS_TEXT_MAX] = "-", p99[UNITS_TEXT_MAX] = "-";
	struct hist h = {};
	json_object *one;
	size_t i;

	for (i = 0; i < cell->count; i++) {
		one = record__at(cell->records[i], "/app/message_latency_ns");
		if (one)
			record__add_hist(&h, one);
	}
	if (h.count) {
		units__decimal_text((double)hist__percentile(&h, 500) / 1e3, 2, p50);
		units__decimal_text((double)hist__percentile(&h, 990) / 1e3, 2, p99);
	}
	table__cell(t, "%s", p50);
	table__cell(t, "%s", p99);
}

static void cpu_seconds(struct table *t, const struct cell *cell, const char *user,
			const char *system)
{
	double bytes, user_s, system_s;
	char text[UNITS_TEXT_MAX];

	if (cell__sum(cell, "/app/received_bytes", &bytes) && cell__sum(cell, user, &user_s) &&
	    cell__sum(cell, system, &system_s) && bytes > 0)
		table__cell(t, "%s",
			    units__decimal_text((user_s + system_s) / (bytes / GIB), 3, text));
	else
		table__cell(t, "-");
}

static void copied(struct table *t, const struct cell *cell)
{
	double completions, count;
	char text[UNITS_TEXT_MAX];

	if (record__at(cell->records[0], "/zerocopy/io_uring") &&
	    cell__sum(cell, "/zerocopy/io_uring/completions", &completions) &&
	    cell__sum(cell, "/zerocopy/io_uring/copied", &count) && completions > 0)
		table__cell(t, "%s", units__percent_text(count, completions, text));
	else if (!record__at(cell->records[0], "/zerocopy"))
		table__cell(t, "-");
	else if (!cell__sum(cell, "/zerocopy/completions", &completions) ||
		 !cell__sum(cell, "/zerocopy/copied", &count) || completions <= 0)
		table__cell(t, "unknown");
	else
		table__cell(t, "%s", units__percent_text(count, completions, text));
}

/* What tells the cells apart, beside the variant. */
struct varying {
	bool sizes, fields, threads, links;
};

static void heads(struct table *t, const struct varying *v, bool ranges, bool asked)
{
	table__row(t);
	table__cell(t, "variant");
	if (v->sizes)
		table__cell(t, "size");
	if (v->fields)
		table__cell(t, "fields");
	if (v->threads)
		table__cell(t, "threads");
	if (v->links)
		table__cell(t, "link");
	table__cell(t, "Gbit/s");
	if (ranges)
		table__cell(t, "(range)");
	table__cell(t, "us/send p50");
	table__cell(t, "p99");
	table__cell(t, "p99.9");
	if (asked) {
		table__cell(t, "answer us p50");
		table__cell(t, "p99");
	}
	table__cell(t, "CPU s/GiB: sender");
	table__cell(t, "receiver");
	table__cell(t, "copied");
}

static void name(struct table *t, const struct cell *cell, const struct varying *v)
{
	json_object *record = cell->records[0];
	char text[UNITS_TEXT_MAX];
	double value = 0;

	table__cell(t, "%s", record__string(record, "/load/variant"));
	if (v->sizes) {
		record__number(record, "/load/message_bytes", &value);
		table__cell(t, "%s", units__size_text((size_t)value, text));
	}
	if (v->fields) {
		record__number(record, "/load/fields", &value);
		table__cell(t, "%s", units__number_text(value, text));
	}
	if (v->threads) {
		record__number(record, "/load/threads", &value);
		table__cell(t, "%s", units__number_text(value, text));
	}
	if (v->links)
		table__cell(t, "%s", record__string(record, "/load/link"));
}

void text__comparison(const struct cells *cells, FILE *out)
{
	struct varying v = {
		.sizes = cells__vary(cells, "/load/message_bytes"),
		.fields = cells__vary(cells, "/load/fields"),
		.threads = cells__vary(cells, "/load/threads"),
		.links = cells__vary_text(cells, "/load/link"),
	};
	bool ranges = cells__repeats(cells) > 1, asked;
	const struct cell *cell;
	struct table t = {};
	size_t i;

	asked = !strcmp(record__string(cells->cells[0].records[0], "/load/workload"), "request");
	heads(&t, &v, ranges, asked);
	for (i = 0; i < cells->count; i++) {
		cell = &cells->cells[i];
		table__row(&t);
		name(&t, cell, &v);
		throughput(&t, cell, ranges);
		kernel_time(&t, cell);
		if (asked)
			answer_time(&t, cell);
		cpu_seconds(&t, cell, "/app/user_s", "/app/system_s");
		cpu_seconds(&t, cell, "/app/receiver/user_s", "/app/receiver/system_s");
		copied(&t, cell);
	}
	table__print(&t, out);
	fputc('\n', out);
}
