// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the machine's memory and its devices moved meanwhile, if --memory asks for it. */
#include "user/report/text.h"

#include "user/report/record_read.h"
#include "user/report/table.h"

#include <string.h>

#define GIB	1073741824.0
#define ELAPSED "/app/elapsed_s"

/* A bit each, of those that were counted anywhere. */
static const struct column columns[] = {
	{"memory, whole machine", .text = column__title},
	{"read GiB/s", column__rate, "/memory/read_bytes", ELAPSED, GIB, .when = 1},
	{"write GiB/s", column__rate, "/memory/write_bytes", ELAPSED, GIB, .when = 2},
	{"bytes/byte sent", column__rate, "/memory/bytes", "/app/bytes", 1, .when = 4},
	{"I/O read misses/s", column__rate, "/memory/io_read_misses", ELAPSED, 1, .when = 8},
	{"write misses/s", column__rate, "/memory/io_write_misses", ELAPSED, 1, .when = 16},
	{"PCIe in GiB/s", column__rate, "/memory/io_in_bytes", ELAPSED, GIB, .when = 32},
	{"out GiB/s", column__rate, "/memory/io_out_bytes", ELAPSED, GIB, .when = 64},
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static bool known(const struct cells *cells, const char *path)
{
	double value;
	size_t i;

	for (i = 0; i < cells->count; i++)
		if (cell__sum(&cells->cells[i], path, &value))
			return true;
	return false;
}

/* Why the record lacks a number. */
static const char *reason(json_object *record, const char *key)
{
	json_object *one;
	size_t i;

	for (i = 0; (one = record__row(record, "/unmeasured", i)); i++)
		if (!strcmp(record__string(one, "/key"), key))
			return record__string(one, "/reason");
	return "not counted";
}

void text__memory(const struct cells *cells, FILE *out)
{
	json_object *record = cells->cells[0].records[0];
	unsigned int shown = 0;
	size_t i;

	if (!record__at(record, "/memory"))
		return;
	for (i = 1; i < COLUMNS; i++)
		shown |= known(cells, columns[i].path) ? columns[i].when : 0;
	if (!shown) {
		fprintf(out, "memory: %s\n\n", reason(record, "memory.read_bytes"));
		return;
	}
	table__print_cells(cells, 1, columns, COLUMNS, shown, out);
	if (record__at(record, "/memory/source"))
		fprintf(out, "  %s by: %s\n",
			record__flag(record, "/memory/is_estimate") ? "estimated" : "counted",
			record__string(record, "/memory/source"));
	else
		fprintf(out, "  reads and writes: %s\n", reason(record, "memory.read_bytes"));
	fputc('\n', out);
}
