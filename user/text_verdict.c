// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The verdict of each cell, from its records. */
#include "text.h"

#include "record_read.h"
#include "verdict.h"

#include <stdlib.h>
#include <string.h>

static double sum_or_unknown(const struct cell *cell, const char *path)
{
	double sum;

	return cell__sum(cell, path, &sum) ? sum : -1;
}

/* All refusals of the cell, and the name of the most frequent. */
static void add_refusals(struct verdict_facts *f, const struct cell *cell)
{
	double n, most = 0;
	json_object *list;
	size_t i, j;

	for (i = 0; i < cell->count; i++) {
		list = record__at(cell->records[i], "/zerocopy/refused");
		for (j = 0; list && j < json_object_array_length(list); j++) {
			n = 0;
			record__number(json_object_array_get_idx(list, j), "/count", &n);
			f->refused += n;
			if (n <= most)
				continue;
			most = n;
			f->refusal = record__string(json_object_array_get_idx(list, j), "/cause");
		}
	}
}

static double throughput(const struct cell *cell)
{
	double *values = calloc(cell->count, sizeof(*values)), middle;
	size_t i, count = 0;

	for (i = 0; values && i < cell->count; i++)
		if (record__number(cell->records[i], "/app/throughput_bps", &values[count]))
			count++;
	middle = median(values, count);
	free(values);
	return middle;
}

static bool same(const struct cell *a, const struct cell *b, const char *path)
{
	double x = 0, y = 0;

	record__number(a->records[0], path, &x);
	record__number(b->records[0], path, &y);
	return x == y;
}

/* The fastest of the same load's variants that send without the flag. */
static void add_comparison(struct verdict_facts *f, const struct cell *cell,
			   const struct cells *cells)
{
	const struct cell *other;
	double bps;
	size_t i;

	f->own_bps = throughput(cell);
	for (i = 0; i < cells->count; i++) {
		other = &cells->cells[i];
		if (record__at(other->records[0], "/zerocopy") ||
		    !record__at(other->records[0], "/calls/0") ||
		    !same(cell, other, "/load/message_bytes") ||
		    !same(cell, other, "/load/threads"))
			continue;
		bps = throughput(other);
		if (bps <= f->other_bps)
			continue;
		f->other_bps = bps;
		f->other = record__string(other->records[0], "/load/variant");
	}
}

static void add_receiver(const struct cell *cell, char *to, size_t size)
{
	const char *address = record__string(cell->records[0], "/load/address");

	if (address[0])
		snprintf(to, size, " to %s", address);
}

static void facts_of(struct verdict_facts *f, const struct cell *cell, const struct cells *cells)
{
	f->requests = sum_or_unknown(cell, "/zerocopy/requests");
	f->completions = sum_or_unknown(cell, "/zerocopy/completions");
	f->outstanding = sum_or_unknown(cell, "/zerocopy/outstanding");
	f->copied = sum_or_unknown(cell, "/zerocopy/copied");
	f->silent = sum_or_unknown(cell, "/zerocopy/copied_silent");
	f->told = sum_or_unknown(cell, "/zerocopy/app_told_copied");
	f->ignored = sum_or_unknown(cell, "/zerocopy/ignored");
	f->lost = sum_or_unknown(cell, "/lost/completions");
	add_refusals(f, cell);
	add_comparison(f, cell, cells);
}

void text__verdict(const struct cells *cells, FILE *out)
{
	struct cause_rows causes;
	char text[VERDICT_MAX], to[128], title[64];
	size_t i;

	for (i = 0; i < cells->count; i++) {
		struct verdict_facts facts = {.to = to, .causes = &causes};

		if (!record__at(cells->cells[i].records[0], "/zerocopy"))
			continue;
		to[0] = 0;
		cause_rows__gather(&causes, &cells->cells[i]);
		add_receiver(&cells->cells[i], to, sizeof(to));
		facts_of(&facts, &cells->cells[i], cells);
		verdict(&facts, text);
		cell__title(&cells->cells[i], cells, title, sizeof(title));
		if (text[0])
			fprintf(out, "\n%s: %s\n", title, text);
	}
}
