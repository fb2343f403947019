// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Histograms by powers of two, as bcc prints them; the percentiles come from the finer
 * buckets. One a syscall and kind of send.
 */
#include "user/report/text.h"

#include "user/kernel/stages.h"
#include "user/report/record_read.h"

#include "bpf/abi.h"

#include "common/hist_stats.h"
#include "common/units.h"

#include <string.h>

#define BAR_WIDTH 34

static void draw(const struct hist *h, FILE *out)
{
	static const char bar[] = "**********************************";
	__u64 octaves[HIST_MAX_BITS + 1] = {}, most = 0;
	int first = -1, last = -1, i;
	__u32 bucket;

	for (bucket = 0; bucket < HIST_BUCKETS; bucket++)
		octaves[63 - __builtin_clzll(hist_low(bucket) | 1)] += h->buckets[bucket];
	for (i = 0; i <= HIST_MAX_BITS; i++) {
		if (!octaves[i])
			continue;
		first = first < 0 ? i : first;
		last = i;
		most = octaves[i] > most ? octaves[i] : most;
	}
	fprintf(out, "  %24s : %-12s distribution\n", "nsecs", "count");
	for (i = first; i >= 0 && i <= last; i++)
		fprintf(out, "  %10llu -> %-10llu : %-12s |%-*.*s|\n", i ? 1ULL << i : 0,
			(2ULL << i) - 1, units__count_text(octaves[i]), BAR_WIDTH,
			(int)(octaves[i] * BAR_WIDTH / most), bar);
}

static void percentiles(const struct hist *h, FILE *out)
{
	fprintf(out, "  mean %s, p50 %s, p90 %s, p99 %s, p99.9 %s, max %s\n",
		units__time_text((double)h->sum / (double)h->count),
		units__time_text((double)hist__percentile(h, 500)),
		units__time_text((double)hist__percentile(h, 900)),
		units__time_text((double)hist__percentile(h, 990)),
		units__time_text((double)hist__percentile(h, 999)),
		units__time_text((double)h->max));
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
	json_object *event;

	c->sends += record__value(counters, "/sends");
	c->left_out += record__value(counters, "/left_out");
	for (c->count = 0; c->count < CALL_COUNTERS_MAX; c->count++) {
		event = record__row(counters, "/events", c->count);
		if (!event)
			break;
		c->events[c->count].event = record__string(event, "/event");
		c->events[c->count].sum += record__value(event, "/sum");
	}
}

static void print_counters(const struct counted *c, FILE *out)
{
	size_t i;

	if (!c->count)
		return;
	fputs("  per send:", out);
	for (i = 0; i < c->count && c->sends > 0; i++)
		fprintf(out, "%s %s %s", i ? "," : "", c->events[i].event,
			units__number_text(c->events[i].sum / c->sends));
	fprintf(out, " (mean of %s; left out, as they lost their CPU meanwhile: %s)\n",
		units__counted_text(c->sends, "send"), units__number_text(c->left_out));
}

bool text__same_call(json_object *a, json_object *b)
{
	return json_object_equal(record__at(a, "/syscall"), record__at(b, "/syscall")) &&
	       json_object_equal(record__at(a, "/notified_by"), record__at(b, "/notified_by")) &&
	       json_object_equal(record__at(a, "/zerocopy"), record__at(b, "/zerocopy"));
}

static void call(const struct cell *cell, json_object *first, FILE *out)
{
	struct counted counted = {};
	struct hist h = {};
	double sends = 0, one_in = 1;
	json_object *row;
	size_t i;

	for (i = 0; (row = cell__row(cell, "/calls", i)); i++) {
		if (!text__same_call(row, first))
			continue;
		sends += record__value(row, "/sends");
		one_in = record__value(row, "/timed_one_in");
		record__add_hist(&h, record__at(row, "/wall_ns"));
		add_counters(&counted, record__at(row, "/counters"));
	}
	fprintf(out, "kernel time of a send: %s, %s%s, %s\n", cell->title,
		record__string(first, "/syscall"), text__call_kind(first),
		units__counted_text(sends, "send"));
	if (!h.count)
		return;
	fprintf(out, "  from %s", record__string(first, "/wall_ns/span"));
	if (one_in > 1)
		fprintf(out, "; a sample of one in %s, chosen at random: %s",
			units__number_text(one_in), units__counted_text((double)h.count, "send"));
	else if (sends > (double)h.count)
		fprintf(out, "; not timed: %s, which failed before, or whose start was missed",
			units__number_text(sends - (double)h.count));
	fputc('\n', out);
	draw(&h, out);
	percentiles(&h, out);
	print_counters(&counted, out);
	fputc('\n', out);
}

void text__histograms(const struct cells *cells, FILE *out)
{
	json_object *row;
	size_t i, j;

	for (i = 0; i < cells->count; i++)
		for (j = 0; (row = record__row(cells->cells[i].records[0], "/calls", j)); j++)
			call(&cells->cells[i], row, out);
}

/* One stage of the divided sends of a kind, over a cell's repeats. */
static void stage(const struct cell *cell, json_object *first, json_object *part, FILE *out)
{
	const char *name = record__string(part, "/stage");
	json_object *row, *other;
	struct hist h = {};
	size_t i, j;

	for (i = 0; (row = cell__row(cell, "/calls", i)); i++)
		for (j = 0; (other = record__row(row, "/stages/parts", j)); j++)
			if (text__same_call(row, first) &&
			    !strcmp(record__string(other, "/stage"), name))
				record__add_hist(&h, record__at(other, "/ns"));
	if (!h.sum)
		return;
	fprintf(out, "%s of a send: %s, %s%s, in %s\n", stage__words(name), cell->title,
		record__string(first, "/syscall"), text__call_kind(first),
		units__counted_text((double)h.count, "send"));
	draw(&h, out);
	percentiles(&h, out);
	fputc('\n', out);
}

void text__stage_histograms(const struct cells *cells, FILE *out)
{
	json_object *call, *part;
	size_t i, j, k;

	for (i = 0; i < cells->count; i++)
		for (j = 0; (call = record__row(cells->cells[i].records[0], "/calls", j)); j++)
			for (k = 0; (part = record__row(call, "/stages/parts", k)); k++)
				stage(&cells->cells[i], call, part, out);
}
