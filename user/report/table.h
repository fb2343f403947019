/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A table of text cells, printed with aligned columns. */
#ifndef SENDPATH_TABLE_H
#define SENDPATH_TABLE_H

#include <stdio.h>

#define TABLE_COLUMNS 16
#define TABLE_CELL    48

struct table {
	size_t columns, rows, room;
	char (*cells)[TABLE_COLUMNS][TABLE_CELL];
};

/* Begins a row; the table grows. On lack of memory further text is dropped. */
void table__row(struct table *t);
/* Appends a cell to the last row; a cell too long is cut. */
void table__cell(struct table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* First column to the left, the others to the right. Frees the cells. */
void table__print(struct table *t, FILE *out);

#endif
