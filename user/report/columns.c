// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/report/columns.h"

#include "user/record/record_read.h"

#include "common/hist_stats.h"
#include "common/units.h"

static json_object *first(const void *cell)
{
	return ((const struct cell *)cell)->records[0];
}

void column__string(const void *cell, const struct column *column, char text[TABLE_CELL])
{
	snprintf(text, TABLE_CELL, "%s", record__string(first(cell), column->path));
}

void column__number(const void *cell, const struct column *column, char text[TABLE_CELL])
{
	units__number_text(record__value(first(cell), column->path), text);
}

void column__middle(const void *cell, const struct column *column, char text[TABLE_CELL])
{
	struct spread s = cell__spread(cell, column->path);

	if (s.count)
		units__decimal_text(s.middle / column->unit, column->decimals, text);
}

void column__range(const void *cell, const struct column *column, char text[TABLE_CELL])
{
	struct spread s = cell__spread(cell, column->path);
	char low[UNITS_TEXT_MAX], high[UNITS_TEXT_MAX];

	if (s.count)
		snprintf(text, TABLE_CELL, "(%.20s-%.20s)",
			 units__decimal_text(s.low / column->unit, column->decimals, low),
			 units__decimal_text(s.high / column->unit, column->decimals, high));
}

void column__sum(const void *cell, const struct column *column, char text[TABLE_CELL])
{
	double sum;

	if (cell__sum(cell, column->path, &sum))
		units__number_text(sum, text);
}

void column__hist(const struct hist *h, const struct column *column, char text[TABLE_CELL])
{
	__u64 ns = column->per_mille ? hist__percentile(h, column->per_mille) : h->max;

	if (h->count)
		units__decimal_text((double)ns / column->unit, 2, text);
}

void column__percentile(const void *cell, const struct column *column, char text[TABLE_CELL])
{
	struct hist h;

	cell__hist(cell, column->path, &h);
	column__hist(&h, column, text);
}
