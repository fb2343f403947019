// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Histograms, drawn by powers of two; the percentiles come from the finer
 * buckets. One a syscall and kind of send.
 */
#include "user/report/text.h"

#include "user/record/record_read.h"

#include "bpf/abi.h"

#include "common/hist_stats.h"
#include "common/units.h"

#include <string.h>

#define BAR_WIDTH 40
#define CELLS_MAX 4 /* a grid of more is read as a table */

static void draw(const struct hist *h, FILE *out)
{
	__u64 octaves[HIST_MAX_BITS + 1] = {}, most = 0;
	char time[UNITS_TEXT_MAX], n[UNITS_TEXT_MAX], bar[BAR_WIDTH + 1];
	int first = -1, last = -1, width, i;
	__u32 bucket;

	for (bucket = 0; bucket < HIST_BUCKETS; bucket++)
		octaves[hist_log2(hist_low(bucket) | 1)] += h->buckets[bucket];
	for (i = 0; i <= HIST_MAX_BITS; i++) {
		if (!octaves[i])
			continue;
		first = first < 0 ? i : first;
		last = i;
		most = octaves[i] > most ? octaves[i] : most;
	}
	for (i = first; i >= 0 && i <= last; i++) {
		width = (int)(octaves[i] * BAR_WIDTH / most);
		memset(bar, '#', (size_t)width);
		bar[width] = 0;
		fprintf(out, "  %8s |%-*s %12s\n", units__time_text((double)(1ULL << i), time),
			BAR_WIDTH, bar, units__count_text(octaves[i], n));
	}
}

static void percentiles(const struct hist *h, FILE *out)
{
	static const struct {
		const char *name;
		unsigned int per_mille;
	} rows[] = {{"p50", 500}, {"p90", 900}, {"p99", 990}, {"p99.9", 999}};
	char text[UNITS_TEXT_MAX];
	size_t i;

	fprintf(out, "  mean %s", units__time_text((double)h->sum / (double)h->count, text));
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		fprintf(out, ", %s %s", rows[i].name,
			units__time_text((double)hist__percentile(h, rows[i].per_mille), text));
	fprintf(out, ", max %s\n", units__time_text((double)h->max, text));
}

/* Totals of what the counters said, over a cell's records. */
struct counted {
	double sends, left_out;
	struct {
		const char *event;
		double sum;
	} events[CALL_COUNTERS_MAX];
	size_t count;
};

static void add_counters(struct counted *c, json_object *counters)
{
	json_object *events = record__at(counters, "/events"), *event;
	double value;
	size_t i;

	if (record__number(counters, "/sends", &value))
		c->sends += value;
	if (record__number(counters, "/left_out", &value))
		c->left_out += value;
	c->count = events ? json_object_array_length(events) : 0;
	if (c->count > CALL_COUNTERS_MAX)
		c->count = CALL_COUNTERS_MAX;
	for (i = 0; i < c->count; i++) {
		event = json_object_array_get_idx(events, i);
		c->events[i].event = record__string(event, "/event");
		if (record__number(event, "/sum", &value))
			c->events[i].sum += value;
	}
}

static void print_counters(const struct counted *c, FILE *out)
{
	char a[UNITS_TEXT_MAX], b[UNITS_TEXT_MAX];
	size_t i;

	if (!c->count)
		return;
	fputs("  per send:", out);
	for (i = 0; i < c->count && c->sends > 0; i++)
		fprintf(out, "%s %s %s", i ? "," : "", c->events[i].event,
			units__number_text(c->events[i].sum / c->sends, a));
	fprintf(out, " (mean of %s; left out, as they lost their CPU meanwhile: %s)\n",
		units__counted_text(c->sends, "send", a), units__number_text(c->left_out, b));
}

/* The row of a record's calls that is the same syscall and kind. */
static json_object *same_call(json_object *record, json_object *as)
{
	bool zerocopy = json_object_get_boolean(record__at(as, "/zerocopy"));
	json_object *calls = record__at(record, "/calls"), *call;
	size_t i;

	for (i = 0; calls && i < json_object_array_length(calls); i++) {
		call = json_object_array_get_idx(calls, i);
		if (!strcmp(record__string(call, "/syscall"), record__string(as, "/syscall")) &&
		    !strcmp(record__string(call, "/notified_by"),
			    record__string(as, "/notified_by")) &&
		    json_object_get_boolean(record__at(call, "/zerocopy")) == zerocopy)
			return call;
	}
	return NULL;
}

static void call(const struct cell *cell, const char *title, json_object *first, FILE *out)
{
	const char *syscall = record__string(first, "/syscall");
	bool zerocopy = json_object_get_boolean(record__at(first, "/zerocopy"));
	char a[UNITS_TEXT_MAX], b[UNITS_TEXT_MAX];
	struct counted counted = {};
	struct hist h = {};
	double sends = 0, value;
	json_object *row;
	size_t i;

	for (i = 0; i < cell->count; i++) {
		row = same_call(cell->records[i], first);
		if (!row)
			continue;
		if (record__number(row, "/sends", &value))
			sends += value;
		if (record__at(row, "/wall_ns"))
			record__add_hist(&h, record__at(row, "/wall_ns"));
		if (record__at(row, "/counters"))
			add_counters(&counted, record__at(row, "/counters"));
	}
	fprintf(out, "kernel time of a send: %s, %s%s, span %s, %s", title, syscall,
		zerocopy ? " with MSG_ZEROCOPY" : "", record__string(first, "/wall_ns/span"),
		units__counted_text(sends, "send", a));
	if (sends > (double)h.count)
		fprintf(out, " (%s of them failed before the span, or their start was missed)",
			units__number_text(sends - (double)h.count, b));
	fputc('\n', out);
	if (!h.count)
		return;
	draw(&h, out);
	percentiles(&h, out);
	print_counters(&counted, out);
	fputc('\n', out);
}

void text__histograms(const struct cells *cells, FILE *out)
{
	json_object *calls;
	char title[64];
	size_t i, j;

	if (cells->count > CELLS_MAX)
		return;
	for (i = 0; i < cells->count; i++) {
		calls = record__at(cells->cells[i].records[0], "/calls");
		cell__title(&cells->cells[i], cells, title, sizeof(title));
		for (j = 0; calls && j < json_object_array_length(calls); j++)
			call(&cells->cells[i], title, json_object_array_get_idx(calls, j), out);
	}
}
