// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Losses, warnings, and what was not measured. */
#include "user/report/text.h"

#include "user/record/record_read.h"

#include "common/units.h"

#include <string.h>

static double sum_over(const struct cells *cells, const char *path)
{
	double sum = 0, value;
	size_t i;

	for (i = 0; i < cells->count; i++)
		if (cell__sum(&cells->cells[i], path, &value))
			sum += value;
	return sum;
}

/* Where the kernel does not tell of them, a warning and the verdict say so. */
static void skipped_looks(const struct cells *cells, FILE *out)
{
	char text[UNITS_TEXT_MAX];
	double sum = 0, one;
	size_t i;

	for (i = 0; i < cells->count; i++) {
		one = cell__skipped_looks(&cells->cells[i]);
		sum += one > 0 ? one : 0;
	}
	if (sum > 0)
		fprintf(out,
			"LOST: the kernel skipped %s of the programs that see copies: the counts "
			"below may lack as many copies\n\n",
			units__counted_text(sum, "run", text));
}

void text__losses(const struct cells *cells, FILE *out)
{
	double calls = sum_over(cells, "/lost/calls");
	double completions = sum_over(cells, "/lost/completions");
	double flags = sum_over(cells, "/lost/flags");
	double groups = sum_over(cells, "/lost/groups");
	char a[UNITS_TEXT_MAX], b[UNITS_TEXT_MAX];

	if (calls + completions > 0)
		fprintf(out,
			"LOST: %s and %s could not be followed: the counts below lack them\n\n",
			units__counted_text(calls, "call", a),
			units__counted_text(completions, "completion", b));
	if (groups > 0)
		fprintf(out,
			"LOST: for the groups of %s there was no room: all totals count them, no "
			"row does\n\n",
			units__counted_text(groups, "send", a));
	if (flags > 0)
		fprintf(out,
			"LOST: the flag of %s was not seen: a neighbour's stands for it, and no "
			"cause counts it\n\n",
			units__counted_text(flags, "completed send", a));
	skipped_looks(cells, out);
}

/* Was the same text said by an earlier record? */
static bool said_before(const struct cells *cells, size_t cell, size_t record, const char *list,
			const char *key, const char *text)
{
	json_object *rows;
	size_t i, j, k;

	for (i = 0; i <= cell; i++) {
		for (j = 0; j < (i == cell ? record : cells->cells[i].count); j++) {
			rows = record__at(cells->cells[i].records[j], list);
			for (k = 0; rows && k < json_object_array_length(rows); k++)
				if (!strcmp(text, record__string(json_object_array_get_idx(rows, k),
								 key)))
					return true;
		}
	}
	return false;
}

/* Prints each text of a list of all records once. Returns how many. */
static size_t each_once(const struct cells *cells, const char *list, const char *key,
			const char *before_first, const char *before_more, FILE *out)
{
	json_object *rows;
	const char *text;
	size_t i, j, k, said = 0;

	for (i = 0; i < cells->count; i++) {
		for (j = 0; j < cells->cells[i].count; j++) {
			rows = record__at(cells->cells[i].records[j], list);
			for (k = 0; rows && k < json_object_array_length(rows); k++) {
				text = record__string(json_object_array_get_idx(rows, k), key);
				if (said_before(cells, i, j, list, key, text))
					continue;
				fprintf(out, "%s%s", said++ ? before_more : before_first, text);
			}
		}
	}
	return said;
}

void text__notes(const struct cells *cells, FILE *out)
{
	if (each_once(cells, "/warnings", "/text", "warning: ", "\nwarning: ", out))
		fputc('\n', out);
	if (each_once(cells, "/unmeasured", "/key", "not measured (the record says why): ", ", ",
		      out))
		fputc('\n', out);
}
