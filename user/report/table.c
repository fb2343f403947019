// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/report/table.h"

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
	char text[TABLE_CELL];
	size_t i;

	table__row(t);
	for (i = 0; i < count; i++) {
		strcpy(text, "-");
		if (!is_shown(&columns[i], shown))
			continue;
		columns[i].write(row, &columns[i], text);
		table__cell(t, "%s", text);
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

void table__print(struct table *t, FILE *out)
{
	size_t widths[TABLE_COLUMNS], row, column, last;

	for (column = 0; column < TABLE_COLUMNS; column++)
		widths[column] = width(t, column);
	for (row = 0; row < t->rows; row++) {
		last = 0;
		for (column = 0; column < TABLE_COLUMNS; column++)
			if (t->cells[row][column][0])
				last = column;
		fprintf(out, "%-*s", last ? (int)widths[0] : 0, t->cells[row][0]);
		for (column = 1; column <= last; column++)
			fprintf(out, "  %*s", (int)widths[column], t->cells[row][column]);
		fputc('\n', out);
	}
	free(t->cells);
	memset(t, 0, sizeof(*t));
}
