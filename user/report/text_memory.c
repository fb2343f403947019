// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the machine's memory and its devices moved meanwhile, if --memory asks for it. */
#include "user/report/text.h"

#include "user/record/record_read.h"
#include "user/report/table.h"

#include "common/units.h"

#include <string.h>

#define GIB 1073741824.0

static const struct {
	const char *path, *over, *head;
	double scale;
} columns[] = {
	{"/memory/read_bytes", "/app/elapsed_s", "read GiB/s", 1 / GIB},
	{"/memory/write_bytes", "/app/elapsed_s", "write GiB/s", 1 / GIB},
	{"/memory/bytes", "/app/bytes", "bytes/byte sent", 1},
	{"/memory/io_read_misses", "/app/elapsed_s", "I/O read misses/s", 1},
	{"/memory/io_write_misses", "/app/elapsed_s", "write misses/s", 1},
	{"/memory/io_in_bytes", "/app/elapsed_s", "PCIe in GiB/s", 1 / GIB},
	{"/memory/io_out_bytes", "/app/elapsed_s", "out GiB/s", 1 / GIB},
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
	json_object *list = record__at(record, "/unmeasured"), *one;
	size_t i;

	for (i = 0; list && i < json_object_array_length(list); i++) {
		one = json_object_array_get_idx(list, i);
		if (!strcmp(record__string(one, "/key"), key))
			return record__string(one, "/reason");
	}
	return "not counted";
}

static void row(struct table *t, const struct cell *cell, const struct cells *cells,
		const bool *shown)
{
	char title[64], text[UNITS_TEXT_MAX];
	double value, over;
	size_t i;

	table__row(t);
	cell__title(cell, cells, title, sizeof(title));
	table__cell(t, "%s", title);
	for (i = 0; i < COLUMNS; i++) {
		if (!shown[i])
			continue;
		if (cell__sum(cell, columns[i].path, &value) &&
		    cell__sum(cell, columns[i].over, &over) && over > 0)
			table__cell(t, "%s",
				    units__figure_text(value / over * columns[i].scale, 4, text));
		else
			table__cell(t, "-");
	}
}

static void table(const struct cells *cells, FILE *out)
{
	bool shown[COLUMNS];
	struct table t = {};
	size_t i;

	table__row(&t);
	table__cell(&t, "memory, whole machine");
	for (i = 0; i < COLUMNS; i++) {
		shown[i] = known(cells, columns[i].path);
		if (shown[i])
			table__cell(&t, "%s", columns[i].head);
	}
	for (i = 0; i < cells->count; i++)
		row(&t, &cells->cells[i], cells, shown);
	table__print(&t, out);
}

void text__memory(const struct cells *cells, FILE *out)
{
	json_object *record = cells->cells[0].records[0];
	bool any = false;
	size_t i;

	if (!record__at(record, "/memory"))
		return;
	for (i = 0; i < COLUMNS; i++)
		any |= known(cells, columns[i].path);
	if (!any) {
		fprintf(out, "memory: %s\n\n", reason(record, "memory.read_bytes"));
		return;
	}
	table(cells, out);
	if (record__at(record, "/memory/source"))
		fprintf(out, "  %s by: %s\n",
			json_object_get_boolean(record__at(record, "/memory/is_estimate"))
				? "estimated"
				: "counted",
			record__string(record, "/memory/source"));
	else
		fprintf(out, "  reads and writes: %s\n", reason(record, "memory.read_bytes"));
	fputc('\n', out);
}
