// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How large the sends of an observed program were: a row a syscall and size class. */
#include "user/report/text.h"

#include "user/report/record_read.h"
#include "user/report/table.h"

#include "common/units.h"

#define SMALL_SHARE 0.01 /* of sends and of bytes: less is among the others */

struct sized {
	double sends, bytes;
};

static void print_row(struct table *t, const struct sized *all, const struct sized *row,
		      const char *call, const char *range)
{
	table__row(t);
	table__cell(t, "%s", call);
	table__cell(t, "%s", range);
	table__cell(t, "%s", units__number_text(row->sends));
	table__cell(t, "%s", units__percent_text(row->sends, all->sends));
	table__cell(t, "%s", units__percent_text(row->bytes, all->bytes));
}

static const char *range_text(uint64_t low, uint64_t high)
{
	const char *text = units__count_text(low);

	return low < 2 ? text : units__text("%s-%s", text, units__count_text(high));
}

/* Of a row [low, high, sends, bytes]. */
static void add(struct sized *sum, json_object *row)
{
	sum->sends += record__value(row, "/2");
	sum->bytes += record__value(row, "/3");
}

static void print_call(struct table *t, const struct sized *all, struct sized *others,
		       json_object *call)
{
	char name[TABLE_CELL];
	json_object *row;
	size_t i;

	snprintf(name, sizeof(name), "%s%s", record__string(call, "/syscall"),
		 text__call_kind(call));
	for (i = 0; (row = record__row(call, "/sizes", i)); i++) {
		struct sized class = {};

		add(&class, row);
		if (class.sends < SMALL_SHARE * all->sends &&
		    class.bytes < SMALL_SHARE * all->bytes)
			add(others, row);
		else
			print_row(t, all, &class, name,
				  range_text(record__count(row, "/0"), record__count(row, "/1")));
	}
}

void text__sizes(const struct cells *cells, FILE *out)
{
	static const char *const heads[] = {"call", "bytes/send", "sends", "of sends", "of bytes"};
	const struct cell *cell = cells->cells;
	struct sized all = {}, others = {};
	json_object *call, *row;
	struct table t = {};
	size_t i, j;

	for (i = 0; (call = cell__row(cell, "/calls", i)); i++)
		for (j = 0; (row = record__row(call, "/sizes", j)); j++)
			add(&all, row);
	if (!cell__at(cell, "/observed") || !all.sends)
		return;
	fprintf(out, "sizes: %s\n", cell->title);
	table__row(&t);
	for (i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		table__cell(&t, "%s", heads[i]);
	for (i = 0; (call = cell__row(cell, "/calls", i)); i++)
		print_call(&t, &all, &others, call);
	if (others.sends)
		print_row(&t, &all, &others, "others", "");
	table__print(&t, out);
	fputc('\n', out);
}
