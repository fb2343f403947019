// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/report/table.h"

#include "user/report/record_read.h"

#include "common/hist_stats.h"
#include "common/units.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void table__row(struct table *t)
{
	void *grown;

	if (t->rows == t->room) {
		grown = realloc(t->cells, (t->room + 16) * sizeof(*t->cells));
		if (!grown)
			return;
		t->cells = grown;
		memset(t->cells + t->room, 0, 16 * sizeof(*t->cells));
		t->room += 16;
	}
	t->rows++;
	t->columns = 0;
}

void table__cell(struct table *t, const char *format, ...)
{
	va_list args;

	if (!t->rows || t->columns == TABLE_COLUMNS)
		return;
	va_start(args, format);
	vsnprintf(t->cells[t->rows - 1][t->columns++], TABLE_CELL, format, args);
	va_end(args);
}

static bool is_shown(const struct column *column, unsigned int shown)
{
	return !(column->when & ~shown);
}

void table__heads(struct table *t, const struct column *columns, size_t count, unsigned int shown)
{
	size_t i;

	table__row(t);
	for (i = 0; i < count; i++)
		if (is_shown(&columns[i], shown))
			table__cell(t, "%s", columns[i].head);
}

void table__data(struct table *t, const struct column *columns, size_t count, unsigned int shown,
		 const void *row)
{
	const char *text;
	size_t i;

	table__row(t);
	for (i = 0; i < count; i++) {
		if (!is_shown(&columns[i], shown))
			continue;
		text = columns[i].text(row, &columns[i]);
		table__cell(t, "%s", text ? text : "-");
	}
}

static size_t width(const struct table *t, size_t column)
{
	size_t row, length, widest = 0;

	for (row = 0; row < t->rows; row++) {
		length = strlen(t->cells[row][column]);
		if (length > widest)
			widest = length;
	}
	return widest;
}

/* The last column that has text. */
static size_t last_column(const struct table *t)
{
	size_t column = TABLE_COLUMNS;

	while (column > 1 && !width(t, column - 1))
		column--;
	return column;
}

/* The columns from one on that a line has room for, but one in any case: where they end. */
static size_t fitting(const struct table *t, const size_t *widths, size_t from, size_t end)
{
	size_t column, used = 0;

	for (column = 0; column < t->keys; column++)
		used += widths[column] + 2;
	for (column = from; column < end; column++) {
		used += widths[column] + 2;
		if (used - 2 > TABLE_WIDTH && column > from)
			break;
	}
	return column;
}

static void print_columns(const struct table *t, const size_t *widths, size_t from, size_t to,
			  FILE *out)
{
	size_t row, column, last;

	for (row = 0; row < t->rows; row++) {
		for (last = to; last > from && !t->cells[row][last - 1][0];)
			last--;
		fprintf(out, "%-*s", last > 1 ? (int)widths[0] : 0, t->cells[row][0]);
		for (column = 1; column < t->keys; column++)
			fprintf(out, "  %*s", (int)widths[column], t->cells[row][column]);
		for (column = from; column < last; column++)
			fprintf(out, "  %*s", (int)widths[column], t->cells[row][column]);
		fputc('\n', out);
	}
}

void table__print(struct table *t, FILE *out)
{
	size_t widths[TABLE_COLUMNS], column, from, to, end = last_column(t);

	t->keys = t->keys ? t->keys : 1;
	for (column = 0; column < TABLE_COLUMNS; column++)
		widths[column] = width(t, column);
	for (from = t->keys; from == t->keys || from < end; from = to) {
		to = fitting(t, widths, from, end);
		print_columns(t, widths, from, to, out);
		to = to > from ? to : from + 1;
		fputs(to < end ? "\n" : "", out);
	}
	free(t->cells);
	memset(t, 0, sizeof(*t));
}

void table__print_cells(const struct cells *cells, size_t keys, const struct column *columns,
			size_t count, unsigned int shown, FILE *out)
{
	struct table t = {.keys = keys};
	size_t i;

	table__heads(&t, columns, count, shown);
	for (i = 0; i < cells->count; i++)
		table__data(&t, columns, count, shown, &cells->cells[i]);
	table__print(&t, out);
}

const char *column__count(const void *row, const struct column *column)
{
	double less = column->per ? record__value((json_object *)row, column->per) : 0;

	return units__number_text(record__value((json_object *)row, column->path) - less);
}

const char *column__mean_time(const void *row, const struct column *column)
{
	double count = record__value((json_object *)row, column->per);
	double ns = record__value((json_object *)row, column->path);

	return count > 0 ? column__time(ns / count, column) : NULL;
}

const char *column__title(const void *cell, const struct column *column)
{
	(void)column;
	return ((const struct cell *)cell)->title;
}

const char *column__string(const void *cell, const struct column *column)
{
	return cell__at(cell, column->path) ? record__string(cell__at(cell, column->path), "")
					    : NULL;
}

const char *column__number(const void *cell, const struct column *column)
{
	return units__number_text(record__value(cell__at(cell, column->path), ""));
}

const char *column__middle(const void *cell, const struct column *column)
{
	struct spread s = cell__spread(cell, column->path);

	return s.count ? units__decimal_text(s.middle / column->unit, column->decimals) : NULL;
}

const char *column__range(const void *cell, const struct column *column)
{
	struct spread s = cell__spread(cell, column->path);

	if (s.count < 2)
		return column__middle(cell, column);
	return units__text("%s (%s-%s)",
			   units__decimal_text(s.middle / column->unit, column->decimals),
			   units__decimal_text(s.low / column->unit, column->decimals),
			   units__decimal_text(s.high / column->unit, column->decimals));
}

const char *column__sum(const void *cell, const struct column *column)
{
	double sum;

	return cell__sum(cell, column->path, &sum) ? units__number_text(sum) : NULL;
}

const char *column__rate(const void *cell, const struct column *column)
{
	double sum, by;

	return cell__sum(cell, column->path, &sum) && cell__sum(cell, column->per, &by) && by > 0
		       ? units__figure_text(sum / by / column->unit, 4)
		       : NULL;
}

const char *column__time(double ns, const struct column *column)
{
	return units__decimal_text(ns / column->unit, ns / column->unit < 1000 ? 2 : 0);
}

const char *column__hist(const struct hist *h, const struct column *column)
{
	__u64 ns = column->per_mille ? hist__percentile(h, column->per_mille) : h->max;

	return h->count ? column__time((double)ns, column) : NULL;
}

const char *column__percentile(const void *cell, const struct column *column)
{
	struct hist h;

	cell__hist(cell, column->path, &h);
	return column__hist(&h, column);
}
