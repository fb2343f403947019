// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The comparison: a row a cell. */
#include "user/report/text.h"

#include "user/record/record_read.h"
#include "user/report/table.h"

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
	bool uring = cell__at(cell, "/zerocopy/io_uring");
	double completions, count;

	(void)column;
	if (!cell__at(cell, "/zerocopy"))
		return;
	if (cell__sum(cell, uring ? "/zerocopy/io_uring/completions" : "/zerocopy/completions",
		      &completions) &&
	    cell__sum(cell, uring ? "/zerocopy/io_uring/copied" : "/zerocopy/copied", &count) &&
	    completions > 0)
		units__percent_text(count, completions, text);
	else
		strcpy(text, "unknown");
}

static void size(const void *cell, const struct column *column, char text[TABLE_CELL])
{
	json_object *record = ((const struct cell *)cell)->records[0];

	units__size_text((size_t)record__value(record, column->path), text);
}

/* To the first variant of the same load; with an interval where there are repeats enough. */
static void ratio(const void *data, const struct column *column, char text[TABLE_CELL])
{
	const struct cell *cell = data, *first = cell__first_variant(cell);
	struct spread s = cell__ratio(cell, first, column->path);

	if (cell == first || !s.count)
		strcpy(text, cell == first ? "1" : "-");
	else if (s.low > 0)
		snprintf(text, TABLE_CELL, "%.2f (%.2f-%.2f)", s.middle, s.low, s.high);
	else
		snprintf(text, TABLE_CELL, "%.2f", s.middle);
}

static void mean_time(const void *cell, const struct column *column, char text[TABLE_CELL])
{
	struct hist h;

	cell__wall(cell, &h);
	if (h.count)
		units__decimal_text((double)h.sum / (double)h.count / column->unit, 2, text);
}

/* Where cells differ, beside the variant; one repeat, or several; several variants; a request. */
enum {
	SIZES = 1,
	FIELDS = 2,
	THREADS = 4,
	LINKS = 8,
	ONE = 16,
	RANGES = 32,
	RATIO = 64,
	ASKED = 128
};

#define BPS    "/app/throughput_bps"
#define ANSWER "/app/message_latency_ns"

static const struct column columns[] = {
	{"variant", column__string, .path = "/load/variant"},
	{"size", size, .path = "/load/message_bytes", .when = SIZES},
	{"fields", column__number, .path = "/load/fields", .when = FIELDS},
	{"threads", column__number, .path = "/load/threads", .when = THREADS},
	{"link", column__string, .path = "/load/link", .when = LINKS},
	{"Gbit/s", column__middle, .path = BPS, .unit = 1e9, .decimals = 2, .when = ONE},
	{"Gbit/s (range)", column__range, .path = BPS, .unit = 1e9, .decimals = 2, .when = RANGES},
	{"ratio", ratio, .path = BPS, .when = RATIO},
	{"us/send", mean_time, .unit = 1e3},
	{"p50", kernel_time, .unit = 1e3, .per_mille = 500},
	{"p99", kernel_time, .unit = 1e3, .per_mille = 990},
	{"answer us p50", column__percentile, .path = ANSWER, .unit = 1e3, .per_mille = 500,
	 .when = ASKED},
	{"p99", column__percentile, .path = ANSWER, .unit = 1e3, .per_mille = 990, .when = ASKED},
	{"CPU s/GiB", cpu_seconds, .path = "/app/user_s", .per = "/app/system_s"},
	{"receiver", cpu_seconds, .path = "/app/receiver/user_s", .per = "/app/receiver/system_s"},
	{"copied", .write = copied},
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static unsigned int columns_shown(const struct cells *cells)
{
	const char *workload = record__string(cells->cells[0].records[0], "/load/workload");

	return (cells__vary(cells, "/load/message_bytes") ? SIZES : 0) |
	       (cells__vary(cells, "/load/fields") ? FIELDS : 0) |
	       (cells__vary(cells, "/load/threads") ? THREADS : 0) |
	       (cells__vary_text(cells, "/load/link") ? LINKS : 0) |
	       (cells__repeats(cells) > 1 ? RANGES : ONE) |
	       (cells__vary_text(cells, "/load/variant") ? RATIO : 0) |
	       (strcmp(workload, "request") ? 0 : ASKED);
}

void text__comparison(const struct cells *cells, FILE *out)
{
	unsigned int shown = columns_shown(cells);
	size_t keys = 1 + (size_t)__builtin_popcount(shown & (SIZES | FIELDS | THREADS | LINKS));

	table__print_cells(cells, keys, columns, COLUMNS, shown, out);
	fputc('\n', out);
}
