/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What columns of tables of cells are filled with: each is a column's write, its row a cell. */
#pragma once

#include "user/report/cells.h"
#include "user/report/table.h"

/* Of the first record: what all repeats have in common. */
void column__string(const void *cell, const struct column *column, char text[TABLE_CELL]);
void column__number(const void *cell, const struct column *column, char text[TABLE_CELL]);
/* Over the repeats: the median, in units; the range; a sum. */
void column__middle(const void *cell, const struct column *column, char text[TABLE_CELL]);
void column__range(const void *cell, const struct column *column, char text[TABLE_CELL]);
void column__sum(const void *cell, const struct column *column, char text[TABLE_CELL]);
/* Of a histogram over all repeats, in units. */
void column__percentile(const void *cell, const struct column *column, char text[TABLE_CELL]);
void column__hist(const struct hist *h, const struct column *column, char text[TABLE_CELL]);
