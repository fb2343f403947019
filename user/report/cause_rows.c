// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/report/verdict.h"

#include "user/report/record_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Functions as a reader follows them: what was called, from what. */
static void stack_text(json_object *stack, char *text, size_t size)
{
	size_t i, used = 0;

	text[0] = 0;
	for (i = 0; i < record__length(stack, "") && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? " < " : "",
					 record__string(record__row(stack, "", i), ""));
}

static struct cause_row_sum *find(struct cause_rows *rows, const struct cause_row_sum *like)
{
	struct cause_row_sum *row;
	size_t i;

	for (i = 0; i < rows->count; i++) {
		row = &rows->rows[i];
		if (row->cause == like->cause && row->netns == like->netns &&
		    row->ifindex == like->ifindex && !strcmp(row->stack, like->stack))
			return row;
	}
	if (rows->count == CAUSE_ROWS_MAX)
		return NULL;
	rows->rows[rows->count] = *like;
	return &rows->rows[rows->count++];
}

static void add(struct cause_rows *rows, json_object *block)
{
	struct cause_row_sum like = {.cause = cause__find(record__string(block, "/cause"))};
	struct cause_row_sum *row;

	if (like.cause == CAUSES)
		like.cause = CAUSE_UNCLASSIFIED;
	snprintf(like.device, sizeof(like.device), "%s", record__string(block, "/device"));
	like.netns = record__value(block, "/netns");
	like.ifindex = record__value(block, "/ifindex");
	stack_text(record__at(block, "/stack"), like.stack, sizeof(like.stack));
	row = find(rows, &like);
	if (!row)
		return;
	row->sends += record__value(block, "/count");
	row->silent += record__value(block, "/silent");
	row->skbs += record__value(block, "/skbs");
	row->skbs_in_send += record__value(block, "/skbs_in_send");
}

const char *cause_rows__device(const struct cause_rows *rows, size_t row, char *text, size_t size)
{
	const struct cause_row_sum *this = &rows->rows[row], *other;
	size_t i, used;

	used = (size_t)snprintf(text, size, "%s", this->device);
	for (i = 0; i < rows->count; i++) {
		other = &rows->rows[i];
		if (strcmp(other->device, this->device) || other->netns == this->netns)
			continue;
		snprintf(text + used, size - used, " (namespace %.0f)", this->netns);
		break;
	}
	return text;
}

static int by_sends(const void *a, const void *b)
{
	double x = ((const struct cause_row_sum *)a)->sends;
	double y = ((const struct cause_row_sum *)b)->sends;

	return x < y ? 1 : x > y ? -1 : 0;
}

void cause_rows__gather(struct cause_rows *rows, const struct cell *cell)
{
	json_object *block;
	size_t i;

	memset(rows, 0, sizeof(*rows));
	for (i = 0; (block = cell__row(cell, "/zerocopy/causes", i)); i++)
		add(rows, block);
	qsort(rows->rows, rows->count, sizeof(rows->rows[0]), by_sends);
}
