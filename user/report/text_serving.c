// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Many connections: a row a server model and number of connections; why some are slow. */
#include "user/report/text.h"

#include "user/record/record_read.h"
#include "user/report/table.h"

#include "loadgen/system/hist_stats.h"
#include "loadgen/system/units.h"

#include <stdlib.h>
#include <string.h>

#define SLOW_NS 900000000ULL /* less than the second after which a SYN is sent again */

/* A histogram of the block serving, over all repeats. */
static void times(const struct cell *cell, const char *path, struct hist *h)
{
	json_object *one;
	size_t i;

	memset(h, 0, sizeof(*h));
	for (i = 0; i < cell->count; i++) {
		one = record__at(cell->records[i], path);
		if (one)
			record__add_hist(h, one);
	}
}

static void time_cell(struct table *t, const struct hist *h, unsigned int per_mille)
{
	__u64 ns = per_mille ? hist__percentile(h, per_mille) : h->max;
	char text[UNITS_TEXT_MAX];

	if (h->count)
		table__cell(t, "%s", units__decimal_text((double)ns / 1e6, 2, text));
	else
		table__cell(t, "-");
}

/* The middle of a number's values, and with several repeats their range. */
static void spread(struct table *t, const struct cell *cell, const char *path, int decimals,
		   bool ranges)
{
	double *values = calloc(cell->count, sizeof(*values)), middle;
	char text[UNITS_TEXT_MAX], low[UNITS_TEXT_MAX], high[UNITS_TEXT_MAX];
	size_t i, count = 0;

	for (i = 0; values && i < cell->count; i++)
		if (record__number(cell->records[i], path, &values[count]))
			count++;
	middle = median(values, count); /* sorts them */
	table__cell(t, "%s", count ? units__decimal_text(middle, decimals, text) : "-");
	if (ranges && count)
		table__cell(t, "(%s-%s)", units__decimal_text(values[0], decimals, low),
			    units__decimal_text(values[count - 1], decimals, high));
	else if (ranges)
		table__cell(t, "-");
	free(values);
}

static void count_cell(struct table *t, const struct cell *cell, const char *path)
{
	char text[UNITS_TEXT_MAX];
	double sum;

	if (cell__sum(cell, path, &sum))
		table__cell(t, "%s", units__number_text(sum, text));
	else
		table__cell(t, "-");
}

static void heads(struct table *t, bool ranges, bool links)
{
	table__row(t);
	table__cell(t, "model");
	table__cell(t, "connections");
	if (links)
		table__cell(t, "link");
	table__cell(t, "answers/s");
	if (ranges)
		table__cell(t, "(range)");
	table__cell(t, "elapsed s");
	if (ranges)
		table__cell(t, "(range)");
	table__cell(t, "answer ms p50");
	table__cell(t, "p99");
	table__cell(t, "max");
	table__cell(t, "connect p99");
	table__cell(t, "accept p50");
	table__cell(t, "p99");
	table__cell(t, "work p50");
	table__cell(t, "drops");
	table__cell(t, "SYNs again");
}

static void row(struct table *t, const struct cell *cell, bool ranges, bool links)
{
	struct hist connect, accept, work, answer;
	char text[UNITS_TEXT_MAX];
	double connections = 0;

	times(cell, "/serving/connect_ns", &connect);
	times(cell, "/serving/accept_ns", &accept);
	times(cell, "/serving/work_ns", &work);
	times(cell, "/serving/answer_ns", &answer);
	record__number(cell->records[0], "/load/connections", &connections);
	table__row(t);
	table__cell(t, "%s", record__string(cell->records[0], "/load/server_model"));
	table__cell(t, "%s", units__number_text(connections, text));
	if (links)
		table__cell(t, "%s", record__string(cell->records[0], "/load/link"));
	spread(t, cell, "/serving/answers_per_s", 0, ranges);
	spread(t, cell, "/app/elapsed_s", 3, ranges);
	time_cell(t, &answer, 500);
	time_cell(t, &answer, 990);
	time_cell(t, &answer, 0);
	time_cell(t, &connect, 990);
	time_cell(t, &accept, 500);
	time_cell(t, &accept, 990);
	time_cell(t, &work, 500);
	count_cell(t, cell, "/tcp/listen_drops");
	count_cell(t, cell, "/tcp/syn_retransmits");
}

static __u64 slower_than(const struct hist *h, __u64 ns)
{
	__u64 count = 0;
	__u32 i;

	for (i = 0; i < HIST_BUCKETS; i++)
		if (hist_low(i) >= ns)
			count += h->buckets[i];
	return count;
}

static double sum(const struct cell *cell, const char *path)
{
	double value;

	return cell__sum(cell, path, &value) ? value : 0;
}

/* What went wrong between the two, in words. Returns whether anything did. */
static bool explain(const struct cell *cell, const struct cells *cells, FILE *out)
{
	double full = sum(cell, "/tcp/listen_overflows"), drops = sum(cell, "/tcp/listen_drops");
	double again = sum(cell, "/tcp/syn_retransmits"), lost = sum(cell, "/serving/unanswered");
	char title[64], a[UNITS_TEXT_MAX], b[UNITS_TEXT_MAX];
	double backlog = 0;
	struct hist answer;
	__u64 slow;

	times(cell, "/serving/answer_ns", &answer);
	slow = slower_than(&answer, SLOW_NS);
	if (full + drops + again + lost + (double)slow <= 0)
		return false;
	record__number(cell->records[0], "/load/backlog", &backlog);
	cell__title(cell, cells, title, sizeof(title));
	fprintf(out, "%s: %s of %s took a second or more", title, units__count_text(slow, a),
		units__counted_text((double)answer.count, "answer", b));
	if (full > 0)
		fprintf(out, "; the listen queue (--backlog %.0f) was full %s", backlog,
			units__counted_text(full, "time", a));
	if (drops > full)
		fprintf(out, "; dropped: %s", units__counted_text(drops - full, "SYN", a));
	if (again > 0)
		fprintf(out, "; retransmitted after 1, 2, 4 s: %s or SYN-ACKs",
			units__counted_text(again, "SYN", a));
	if (lost > 0)
		fprintf(out,
			"; established for the client and never answered, because the server had "
			"dropped the end of the handshake: %s",
			units__counted_text(lost, "connection", a));
	if (full + drops + again + lost <= 0)
		fprintf(out, "; nothing was dropped or sent again: they waited for the server");
	fputs("\n", out);
	return true;
}

static void load_line(const struct cells *cells, FILE *out)
{
	json_object *r = cells->cells[0].records[0];
	double seconds = 0, messages = 0;
	char text[UNITS_TEXT_MAX];

	fprintf(out,
		"procinfo: a connection is answered with the top two processes by CPU time, then "
		"closed | %s",
		cells__place(cells));
	if (record__number(r, "/load/duration_s", &seconds))
		fprintf(out, " | %g s each", seconds);
	else if (record__number(r, "/load/messages_per_thread", &messages))
		fprintf(out, " | %s each", units__counted_text(messages, "round", text));
	if (cells__repeats(cells) > 1)
		fprintf(out, ", %zu repeats interleaved", cells__repeats(cells));
	fputs("\n\n", out);
}

void text__serving(const struct cells *cells, FILE *out)
{
	bool ranges = cells__repeats(cells) > 1, links = cells__vary_text(cells, "/load/link");
	struct table t = {};
	bool any = false;
	size_t i;

	load_line(cells, out);
	heads(&t, ranges, links);
	for (i = 0; i < cells->count; i++)
		row(&t, &cells->cells[i], ranges, links);
	table__print(&t, out);
	fputs("  answer: from connect() to its end; in it accept: from connected to taken by the "
	      "server,\n  work: from taken to answer ready. drops: by the listen queue; SYNs "
	      "again: sent once more\n\n",
	      out);
	for (i = 0; i < cells->count; i++)
		any |= explain(&cells->cells[i], cells, out);
	fputs(any ? "\n"
		  : "no connection was dropped, sent again or unanswered: what differs is the "
		    "servers' own doing\n\n",
	      out);
}
