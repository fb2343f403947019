// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The comparison: a row a cell. */
#include "user/report/text.h"

#include "user/record/record_read.h"
#include "user/report/columns.h"

#include "common/units.h"

#include <string.h>

#define GIB 1073741824.0

static void kernel_time(const void *cell, const struct column *column, char text[TABLE_CELL])
{
	struct hist h;

	cell__wall(cell, &h);
	column__hist(&h, column, text);
}

/* path is user time, per system time. */
static void cpu_seconds(const void *cell, const struct column *column, char text[TABLE_CELL])
{
	double bytes, user_s, system_s;

	if (cell__sum(cell, "/app/received_bytes", &bytes) &&
	    cell__sum(cell, column->path, &user_s) && cell__sum(cell, column->per, &system_s) &&
	    bytes > 0)
		units__decimal_text((user_s + system_s) / (bytes / GIB), 3, text);
}

static void copied(const void *data, const struct column *column, char text[TABLE_CELL])
{
	const struct cell *cell = data;
	double completions, count;

	(void)column;
	if (record__at(cell->records[0], "/zerocopy/io_uring") &&
	    cell__sum(cell, "/zerocopy/io_uring/completions", &completions) &&
	    cell__sum(cell, "/zerocopy/io_uring/copied", &count) && completions > 0)
		units__percent_text(count, completions, text);
	else if (!record__at(cell->records[0], "/zerocopy"))
		return;
	else if (!cell__sum(cell, "/zerocopy/completions", &completions) ||
		 !cell__sum(cell, "/zerocopy/copied", &count) || completions <= 0)
		strcpy(text, "unknown");
	else
		units__percent_text(count, completions, text);
}

static void size(const void *cell, const struct column *column, char text[TABLE_CELL])
{
	json_object *record = ((const struct cell *)cell)->records[0];

	units__size_text((size_t)record__value(record, column->path), text);
}

/* What tells the cells apart, beside the variant; several repeats; a load that is asked for. */
enum { SIZES = 1, FIELDS = 2, THREADS = 4, LINKS = 8, RANGES = 16, ASKED = 32 };

#define BPS    "/app/throughput_bps"
#define ANSWER "/app/message_latency_ns"

static const struct column columns[] = {
	{"variant", column__string, .path = "/load/variant"},
	{"size", size, .path = "/load/message_bytes", .when = SIZES},
	{"fields", column__number, .path = "/load/fields", .when = FIELDS},
	{"threads", column__number, .path = "/load/threads", .when = THREADS},
	{"link", column__string, .path = "/load/link", .when = LINKS},
	{"Gbit/s", column__middle, .path = BPS, .unit = 1e9, .decimals = 2},
	{"(range)", column__range, .path = BPS, .unit = 1e9, .decimals = 2, .when = RANGES},
	{"us/send p50", kernel_time, .unit = 1e3, .per_mille = 500},
	{"p99", kernel_time, .unit = 1e3, .per_mille = 990},
	{"p99.9", kernel_time, .unit = 1e3, .per_mille = 999},
	{"answer us p50", column__percentile, .path = ANSWER, .unit = 1e3, .per_mille = 500,
	 .when = ASKED},
	{"p99", column__percentile, .path = ANSWER, .unit = 1e3, .per_mille = 990, .when = ASKED},
	{"CPU s/GiB: sender", cpu_seconds, .path = "/app/user_s", .per = "/app/system_s"},
	{"receiver", cpu_seconds, .path = "/app/receiver/user_s", .per = "/app/receiver/system_s"},
	{"copied", .write = copied},
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

void text__comparison(const struct cells *cells, FILE *out)
{
	const char *workload = record__string(cells->cells[0].records[0], "/load/workload");
	unsigned int shown = (cells__vary(cells, "/load/message_bytes") ? SIZES : 0) |
			     (cells__vary(cells, "/load/fields") ? FIELDS : 0) |
			     (cells__vary(cells, "/load/threads") ? THREADS : 0) |
			     (cells__vary_text(cells, "/load/link") ? LINKS : 0) |
			     (cells__repeats(cells) > 1 ? RANGES : 0) |
			     (strcmp(workload, "request") ? 0 : ASKED);
	struct table t = {};
	size_t i;

	table__heads(&t, columns, COLUMNS, shown);
	for (i = 0; i < cells->count; i++)
		table__data(&t, columns, COLUMNS, shown, &cells->cells[i]);
	table__print(&t, out);
	fputc('\n', out);
}
