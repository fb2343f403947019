// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Where the time of a send goes: a bar each of the time on the CPU, to scale among loads of a
 * size, then a table with what passed off the CPU below it.
 */
#include "user/report/text.h"

#include "user/kernel/stages.h"
#include "user/report/record_read.h"
#include "user/report/table.h"

#include "common/units.h"

#include <math.h>
#include <string.h>

#define ACCOUNTS_MAX 48
#define BAR_WIDTH    42
#define SMALL_SHARE  0.0005 /* of the time in the call: a stage with less everywhere is left out */

/* What the divided sends of one kind took, over a cell's repeats: sums, by stage. */
struct account {
	const struct cell *cell;
	json_object *first;
	char title[128];
	double sends, bytes, wall, cpu;
	double of[STAGES];
	bool known[STAGES];
};

/* counter is its index, or below 0: time. */
static json_object *part_metric(json_object *part, int counter)
{
	return counter < 0 ? record__at(part, "/ns")
			   : record__row(part, "/counters", (size_t)counter);
}

static void add_parts(struct account *a, json_object *stages, int counter)
{
	json_object *part, *metric;
	size_t i, j;

	for (i = 0; (part = record__row(stages, "/parts", i)); i++) {
		metric = part_metric(part, counter);
		for (j = 0; j < STAGES && metric; j++) {
			if (strcmp(stage_rows[j].name, record__string(part, "/stage")))
				continue;
			a->of[j] += record__value(metric, "/sum");
			a->known[j] = true;
		}
	}
}

static struct account account_of(const struct cell *cell, json_object *first, int counter)
{
	struct account a = {.cell = cell, .first = first};
	json_object *call, *stages;
	size_t i;

	for (i = 0; (call = cell__row(cell, "/calls", i)); i++) {
		stages = record__at(call, "/stages");
		if (!stages || !text__same_call(call, first))
			continue;
		a.sends += record__value(stages, "/sends");
		a.bytes += record__value(stages, "/bytes");
		a.wall += record__value(stages, "/wall_ns/sum");
		a.cpu += record__value(call, "/cpu_ns/sum");
		add_parts(&a, stages, counter);
	}
	return a;
}

/* Of a cell with sends of several kinds, which one. */
static void name(struct account *a)
{
	bool several = record__row(a->cell->records[0], "/calls", 1);

	snprintf(a->title, sizeof(a->title), "%s%s%s%s", a->cell->title, several ? ", " : "",
		 several ? record__string(a->first, "/syscall") : "",
		 several ? text__call_kind(a->first) : "");
}

/* All that have divided sends. Returns how many. */
static size_t collect(const struct cells *cells, struct account *accounts, int counter)
{
	json_object *call;
	size_t i, j, count = 0;

	for (i = 0; i < cells->count; i++) {
		for (j = 0; (call = record__row(cells->cells[i].records[0], "/calls", j)); j++) {
			if (count == ACCOUNTS_MAX || !record__at(call, "/stages"))
				continue;
			accounts[count] = account_of(&cells->cells[i], call, counter);
			name(&accounts[count]);
			count += accounts[count].sends > 0;
		}
	}
	return count;
}

static double per_send(const struct account *a, double sum)
{
	return sum / a->sends;
}

/* The most that a send of a load of this size took. */
static double scale_of(const struct account *a, const struct account *all, size_t count)
{
	const char *size = "/load/message_bytes";
	double most = 0;
	size_t i;

	for (i = 0; i < count; i++)
		if (json_object_equal(cell__at(a->cell, size), cell__at(all[i].cell, size)) &&
		    per_send(&all[i], all[i].cpu) > most)
			most = per_send(&all[i], all[i].cpu);
	return most;
}

/* Each stage ends where the sum up to it does: no rounding adds up. */
static void draw(const struct account *a, double scale, size_t title, FILE *out)
{
	double sum = 0;
	int drawn = 0, end;
	size_t i;

	fprintf(out, "  %-*s %8s  |", (int)title, a->title, units__time_text(per_send(a, a->cpu)));
	for (i = 0; i < STAGES && scale > 0; i++) {
		if (stage_rows[i].stage >= STAGES_ON_CPU)
			continue;
		sum += per_send(a, a->of[i]);
		end = (int)(fmin(sum / scale, 1) * BAR_WIDTH + 0.5);
		for (; drawn < end; drawn++)
			fputc(stage_rows[i].letter, out);
	}
	fputc('\n', out);
}

static void draw_all(const struct account *accounts, size_t count, FILE *out)
{
	size_t i, length, title = 0;

	for (i = 0; i < count; i++) {
		length = strlen(accounts[i].title);
		title = length > title ? length : title;
	}
	for (i = 0; i < count; i++)
		draw(&accounts[i], scale_of(&accounts[i], accounts, count), title, out);
}

static bool is_shown(const struct account *accounts, size_t count, size_t row)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (accounts[i].of[row] > SMALL_SHARE * accounts[i].wall)
			return true;
	return stage_rows[row].stage == STAGE_UNACCOUNTED;
}

/* Three digits of the largest, so that points stand below points. */
static int decimals_of(const struct account *a)
{
	double us = per_send(a, a->wall) / 1e3;

	return us < 10 ? 2 : us < 1000;
}

static void table_sum(struct table *t, const struct account *a, double sum, double whole)
{
	table__cell(t, "%s", units__decimal_text(per_send(a, sum) / 1e3, decimals_of(a)));
	table__cell(t, "%s", whole > 0 ? units__text("%.1f %%", 100 * sum / whole) : "");
}

static void table_row(struct table *t, const char *label, const struct account *accounts,
		      size_t count, size_t row)
{
	const struct account *a;

	table__row(t);
	table__cell(t, "%s", label);
	for (a = accounts; a < accounts + count; a++) {
		if (a->known[row]) {
			table_sum(t, a, a->of[row],
				  stage_rows[row].stage < STAGES_ON_CPU ? a->cpu : 0);
			continue;
		}
		table__cell(t, "-");
		table__cell(t, "%s", "");
	}
}

static void table_total(struct table *t, const char *label, const struct account *accounts,
			size_t count, bool cpu)
{
	const struct account *a;

	table__row(t);
	table__cell(t, "%s", label);
	for (a = accounts; a < accounts + count; a++)
		table_sum(t, a, cpu ? a->cpu : a->wall, cpu ? a->cpu : 0);
}

static void table_per_byte(struct table *t, const struct account *accounts, size_t count)
{
	const struct account *a;

	table__row(t);
	table__cell(t, "ns per byte on the CPU");
	for (a = accounts; a < accounts + count; a++) {
		table__cell(t, "%s", a->bytes > 0 ? units__figure_text(a->cpu / a->bytes, 3) : "-");
		table__cell(t, "%s", "");
	}
}

static void print_table(const struct account *accounts, size_t count, FILE *out)
{
	struct table t = {};
	bool off = false;
	size_t i;

	table__row(&t);
	table__cell(&t, "us per send");
	for (i = 0; i < count; i++) {
		table__cell(&t, "%s", accounts[i].title);
		table__cell(&t, "of CPU");
	}
	for (i = 0; i < STAGES; i++) {
		if (stage_rows[i].stage >= STAGES_ON_CPU && !off)
			table_total(&t, "on the CPU", accounts, count, true);
		off |= stage_rows[i].stage >= STAGES_ON_CPU;
		if (is_shown(accounts, count, i))
			table_row(&t,
				  units__text("%c %s", off ? ' ' : stage_rows[i].letter,
					      stage_rows[i].words),
				  accounts, count, i);
	}
	table_total(&t, "in the call", accounts, count, false);
	table_per_byte(&t, accounts, count);
	table__print(&t, out);
}

/* Mean per send; a stage a line. */
static void print_counter(const struct cells *cells, int counter, FILE *out)
{
	struct account accounts[ACCOUNTS_MAX];
	size_t i, j, count = collect(cells, accounts, counter);
	struct table t = {};

	table__row(&t);
	table__cell(
		&t, "%s per send",
		record__string(record__row(accounts[0].first, "/counters/events", (size_t)counter),
			       "/event"));
	for (i = 0; i < count; i++)
		table__cell(&t, "%s", accounts[i].title);
	for (j = 0; j < STAGES; j++) {
		if (stage_rows[j].stage >= STAGES_ON_CPU || !is_shown(accounts, count, j))
			continue;
		table__row(&t);
		table__cell(&t, "%s", stage_rows[j].words);
		for (i = 0; i < count; i++)
			table__cell(&t, "%s",
				    accounts[i].known[j] ? units__number_text(per_send(
								   &accounts[i], accounts[i].of[j]))
							 : "-");
	}
	fputc('\n', out);
	table__print(&t, out);
}

/* Where there is no table to have the words. */
static void print_legend(const struct account *accounts, size_t count, FILE *out)
{
	const char *before = "  ";
	size_t i;

	for (i = 0; i < STAGES; i++) {
		if (stage_rows[i].stage >= STAGES_ON_CPU || !is_shown(accounts, count, i))
			continue;
		fprintf(out, "%s%c %s", before, stage_rows[i].letter, stage_rows[i].words);
		before = ", ";
	}
	fputc('\n', out);
}

/* What costs time in the kernel besides, in no send. */
static void print_beside(const struct cells *cells, FILE *out)
{
	static const struct {
		const char *path, *words;
	} rows[] = {{"/zerocopy/error_queue/read_ns", "reading a notification"},
		    {"/zerocopy/wake_up_ns", "waking who waits for one"},
		    {"/receiver/copy_ns", "a copy to the receiver's memory"}};
	const char *before;
	struct hist h;
	size_t i, j;

	for (i = 0; i < cells->count && cells->count <= DETAILED_MAX; i++) {
		before = "besides, ";
		for (j = 0; j < sizeof(rows) / sizeof(rows[0]); j++) {
			cell__hist(&cells->cells[i], rows[j].path, &h);
			if (!h.count)
				continue;
			if (*before == 'b')
				fprintf(out, "besides, %s: ", cells->cells[i].title);
			fprintf(out, "%s%s %s (%s times)", *before == 'b' ? "" : before,
				rows[j].words, units__time_text((double)h.sum / (double)h.count),
				units__count_text(h.count));
			before = ", ";
		}
		fputs(*before == ',' ? "\n" : "", out);
	}
}

void text__stages(const struct cells *cells, FILE *out)
{
	struct account accounts[ACCOUNTS_MAX];
	size_t count = collect(cells, accounts, -1);
	double one_in;
	int i;

	if (!count)
		return;
	one_in = record__value(accounts[0].first, "/stages/one_in");
	fprintf(out, "where the kernel time of a send goes, on the CPU");
	if (one_in > 1)
		fprintf(out, "; of one send in %s, chosen at random", units__number_text(one_in));
	fprintf(out, "\n  from %s\n", record__string(accounts[0].first, "/stages/span"));
	draw_all(accounts, count, out);
	if (cells->count <= DETAILED_MAX) {
		fputc('\n', out);
		print_table(accounts, count, out);
		for (i = 0; record__row(accounts[0].first, "/counters/events", (size_t)i); i++)
			print_counter(cells, i, out);
	} else {
		print_legend(accounts, count, out);
	}
	print_beside(cells, out);
	fputc('\n', out);
}
