/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A table of text cells, printed with aligned columns. */
#pragma once

#include <stdio.h>

#define TABLE_COLUMNS 16
#define TABLE_CELL    48

/* A column of a table whose rows are the same data each: what heads it, and what fills it. */
struct column {
	const char *head;
	/* Writes one row's text, which is "-" before: it stays where nothing is known. */
	void (*write)(const void *row, const struct column *column, char text[TABLE_CELL]);
	/* What write reads, as far as it needs them. */
	const char *path, *per;
	double unit;
	int decimals;
	unsigned int per_mille; /* 0: the largest */
	/* The bits that have to be among those shown, or 0. */
	unsigned int when;
};

struct table {
	size_t columns, rows, room;
	char (*cells)[TABLE_COLUMNS][TABLE_CELL];
};

/* Begins a row; the table grows. On lack of memory further text is dropped. */
void table__row(struct table *t);
/* Appends a cell to the last row; a cell too long is cut. */
void table__cell(struct table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The heads of the columns shown, as a row; a row of data. */
void table__heads(struct table *t, const struct column *columns, size_t count, unsigned int shown);
void table__data(struct table *t, const struct column *columns, size_t count, unsigned int shown,
		 const void *row);
/* First column to the left, the others to the right. Frees the cells. */
void table__print(struct table *t, FILE *out);
