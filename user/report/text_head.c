// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What stands above the figures: losses, the machine, the load. */
#include "user/report/text.h"

#include "user/report/record_read.h"

#include "common/units.h"

#include <math.h>
#include <string.h>

static double sum_over(const struct cells *cells, const char *path)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < cells->count; i++)
		sum += cell__sum_or(&cells->cells[i], path, 0);
	return sum;
}

static void lost(double count, const char *before, const char *unit, const char *after, FILE *out)
{
	if (count > 0)
		fprintf(out, "LOST: %s%s%s\n\n", before, units__counted_text(count, unit), after);
}

void text__losses(const struct cells *cells, FILE *out)
{
	double calls = sum_over(cells, "/lost/calls");
	double completions = sum_over(cells, "/lost/completions"), skipped = 0, flags = 0;
	size_t i;

	for (i = 0; i < cells->count; i++)
		flags += cell__lost_flags(&cells->cells[i]);
	/* Where the kernel does not count them, a warning and the verdict say so. */
	for (i = 0; i < cells->count; i++)
		skipped += fmax(cell__skipped_looks(&cells->cells[i]), 0);
	if (calls + completions > 0)
		fprintf(out,
			"LOST: %s and %s could not be followed: the counts below lack them\n\n",
			units__counted_text(calls, "call"),
			units__counted_text(completions, "completion"));
	lost(sum_over(cells, "/lost/groups"), "for the groups of ", "send",
	     " there was no room: all totals count them, no row does", out);
	lost(flags, "the flag of ", "completed send",
	     " was inferred from a neighbouring completion, and no cause counts it", out);
	lost(sum_over(cells, "/lost/stacks"), "for traces of ", "copied packet",
	     " there was no room: causes and unreported copies below may lack them", out);
	lost(skipped, "the kernel skipped ", "run",
	     " of the programs that see copies: the counts below may lack as many copies", out);
}

const char *text__unseen(json_object *record)
{
	json_object *row;
	size_t i;

	for (i = 0; (row = record__row(record, "/warnings", i)); i++)
		if (!strcmp(record__string(row, "/code"), UNSEEN))
			return record__string(row, "/text");
	return NULL;
}

static void machine(json_object *r, FILE *out)
{
	fprintf(out, "sendpath %s | Linux %s %s | %s%s%s | %s\n",
		record__string(r, "/tool/version"), record__string(r, "/host/kernel"),
		record__string(r, "/host/arch"),
		units__counted_text(record__value(r, "/host/nproc"), "CPU"),
		record__flag(r, "/host/virtualized") ? ", VM" : "",
		record__at(r, "/host/pmu") ? "" : ", no PMU",
		record__at(r, "/plan/tier") ? record__string(r, "/plan/tier") : "not traced");
}

/* How long runs took: the median of what really passed, or how much each had to do. */
static void extent(const struct cells *cells, const char *unit, const char *of, FILE *out)
{
	json_object *r = cells->cells[0].records[0];
	double messages;

	if (record__number(r, "/load/messages_per_thread", &messages))
		fprintf(out, " | %s%s each", units__counted_text(messages, unit), of);
	else
		fprintf(out, " | %s s each",
			units__figure_text(cell__spread(&cells->cells[0], "/app/elapsed_s").middle,
					   3));
	if (cells__repeats(cells) > 1)
		fprintf(out, ", %zu repeats interleaved", cells__repeats(cells));
}

static void serving_load(const struct cells *cells, FILE *out)
{
	fprintf(out,
		"procinfo: a connection is answered with the top two processes by CPU time, then "
		"closed | %s",
		cells__link(cells));
	extent(cells, "round", "", out);
}

static void stream_load(const struct cells *cells, FILE *out)
{
	json_object *r = cells->cells[0].records[0];

	if (cells__vary(cells, "/load/fields"))
		fputs("fields as listed", out);
	else
		fputs(units__counted_text(record__value(r, "/load/fields"), "field"), out);
	if (!cells__vary(cells, "/load/message_bytes"))
		fprintf(out, " = %s a message",
			units__size_text(record__count(r, "/load/message_bytes")));
	if (!strcmp(record__string(r, "/load/workload"), "request"))
		fputs(" | each asked for", out);
	if (!cells__vary(cells, "/load/threads"))
		fprintf(out, " | %s",
			units__counted_text(record__value(r, "/load/threads"), "thread"));
	fprintf(out, " | %s", cells__link(cells));
	extent(cells, "message", " per thread", out);
}

static void observation(json_object *r, FILE *out)
{
	fprintf(out, "observed: %s | %s s", record__string(r, "/observed/what"),
		units__decimal_text(record__value(r, "/observed/seconds"), 1));
}

void text__headline(const struct cells *cells, FILE *out)
{
	json_object *r = cells->cells[0].records[0];

	machine(r, out);
	if (cells__serving(cells))
		serving_load(cells, out);
	else if (record__at(r, "/load"))
		stream_load(cells, out);
	else
		observation(r, out);
	fputc('\n', out);
	if (text__unseen(r))
		fprintf(out, "warning: %s\n", text__unseen(r));
	fputc('\n', out);
}
