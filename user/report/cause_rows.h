/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The causes of a cell's copies, summed over its repeats. */
#pragma once

#include "user/kernel/causes.h"
#include "user/report/cells.h"

#define CAUSE_ROWS_MAX 64

struct cause_row_sum {
	enum cause cause;
	char device[64]; /* as the kernel names it; "": none */
	double netns, ifindex;
	char stack[256]; /* of what is unclassified: functions, innermost first */
	double sends, silent;
	double skbs, skbs_in_send;
};

struct cause_rows {
	struct cause_row_sum rows[CAUSE_ROWS_MAX]; /* most sends first */
	size_t count;
};

/* The device as people read it, its namespace with it where another has the same name. */
const char *cause_rows__device(const struct cause_rows *rows, size_t row, char *text, size_t size);
void cause_rows__gather(struct cause_rows *rows, const struct cell *cell);
