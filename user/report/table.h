/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A table of text cells with aligned columns, in at most 80 characters a line. */
#pragma once

#include "user/report/cells.h"

#include <stdio.h>

#define TABLE_COLUMNS 24
#define TABLE_CELL    48
#define TABLE_WIDTH   80

/* A column of a table whose rows are the same data each: what heads it, and what fills it. */
struct column {
	const char *head;
	/* One row's text, or NULL where nothing is known; to be copied at once. */
	const char *(*text)(const void *row, const struct column *column);
	/* What text reads, as far as it needs them. */
	const char *path, *per;
	double unit;
	int decimals;
	unsigned int per_mille; /* 0: the largest */
	/* The bits that have to be among those shown, or 0. */
	unsigned int when;
};

struct table {
	size_t columns, rows, room;
	size_t keys; /* columns that say what a row is: again where a table goes on; 0: one */
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
/*
 * First column to the left, the others to the right. Columns for which a line has no room go
 * below, beside the keys. Frees the cells.
 */
void table__print(struct table *t, FILE *out);
/* A whole table, a row a cell. */
void table__print_cells(const struct cells *cells, size_t keys, const struct column *columns,
			size_t count, unsigned int shown, FILE *out);

/* What fills columns of tables of a record's rows: a number, less another; a sum per its count. */
const char *column__count(const void *row, const struct column *column);
const char *column__mean_time(const void *row, const struct column *column);

/* What fills columns of tables of cells. Of the first record: what repeats have in common. */
const char *column__title(const void *cell, const struct column *column);
const char *column__string(const void *cell, const struct column *column);
const char *column__number(const void *cell, const struct column *column);
/* Over the repeats: the median, in units; with the range, of several; a sum. */
const char *column__middle(const void *cell, const struct column *column);
const char *column__range(const void *cell, const struct column *column);
const char *column__sum(const void *cell, const struct column *column);
/* A sum over all repeats per another, in units. */
const char *column__rate(const void *cell, const struct column *column);
/* Of a histogram over all repeats, in units; a time, with two decimals below 1,000. */
const char *column__time(double ns, const struct column *column);
const char *column__percentile(const void *cell, const struct column *column);
const char *column__hist(const struct hist *h, const struct column *column);
