// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The comparison: a row a cell. */
#include "user/report/text.h"

#include "user/report/record_read.h"
#include "user/report/table.h"

#include "common/units.h"

#include <string.h>

#define GIB 1073741824.0

static const char *kernel_time(const void *cell, const struct column *column)
{
	struct hist h;

	cell__wall(cell, &h);
	return column__hist(&h, column);
}

/* path is user time, per system time. */
static const char *cpu_seconds(const void *cell, const struct column *column)
{
	double bytes, user_s, system_s, seconds;

	if (!cell__sum(cell, "/app/received_bytes", &bytes) || bytes <= 0 ||
	    !cell__sum(cell, column->path, &user_s) || !cell__sum(cell, column->per, &system_s))
		return NULL;
	seconds = (user_s + system_s) / (bytes / GIB);
	return units__decimal_text(seconds, seconds < 10 ? 3 : 1);
}

static const char *copied(const void *data, const struct column *column)
{
	const struct cell *cell = data;
	bool uring = cell__at(cell, "/zerocopy/io_uring");
	double completions, count;

	(void)column;
	if (!cell__at(cell, "/zerocopy"))
		return NULL;
	if (cell__sum(cell, uring ? "/zerocopy/io_uring/completions" : "/zerocopy/completions",
		      &completions) &&
	    cell__sum(cell, uring ? "/zerocopy/io_uring/copied" : "/zerocopy/copied", &count) &&
	    completions > 0)
		return units__percent_text(count, completions);
	return "unknown";
}

static const char *size(const void *cell, const struct column *column)
{
	return units__size_text(record__count(cell__at(cell, column->path), ""));
}

/* To the first variant of the same load; with an interval where there are repeats enough. */
static const char *ratio_of(const struct cell *cell, record_reader read, const char *path)
{
	const struct cell *first = cell__first_variant(cell);
	struct spread s = cell__ratio(cell, first, read, path);

	if (cell == first || !s.count)
		return cell == first ? "1" : NULL;
	if (s.low > 0)
		return units__text("%.2f (%.2f-%.2f)", s.middle, s.low, s.high);
	return units__text("%.2f", s.middle);
}

static const char *ratio(const void *cell, const struct column *column)
{
	return ratio_of(cell, record__number, column->path);
}

static const char *cpu_ratio(const void *cell, const struct column *column)
{
	(void)column;
	return ratio_of(cell, record__cpu_per_byte, NULL);
}

static const char *mean_time(const void *cell, const struct column *column)
{
	struct hist h;

	cell__wall(cell, &h);
	return h.count ? column__time((double)h.sum / (double)h.count, column) : NULL;
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
	{"CPU ratio", cpu_ratio, .when = RATIO},
	{"copied", .text = copied},
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static unsigned int columns_shown(const struct cells *cells)
{
	const char *workload = record__string(cells->cells[0].records[0], "/load/workload");

	return (cells__vary(cells, "/load/message_bytes") ? SIZES : 0) |
	       (cells__vary(cells, "/load/fields") ? FIELDS : 0) |
	       (cells__vary(cells, "/load/threads") ? THREADS : 0) |
	       (cells__vary(cells, "/load/link") ? LINKS : 0) |
	       (cells__repeats(cells) > 1 ? RANGES : ONE) |
	       (cells__vary(cells, "/load/variant") ? RATIO : 0) |
	       (strcmp(workload, "request") ? 0 : ASKED);
}

void text__comparison(const struct cells *cells, FILE *out)
{
	unsigned int shown = columns_shown(cells);
	size_t keys = 1 + (size_t)__builtin_popcount(shown & (SIZES | FIELDS | THREADS | LINKS));

	table__print_cells(cells, keys, columns, COLUMNS, shown, out);
	fputc('\n', out);
}
