// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Many connections: a row a server model and number of connections; why some are slow. */
#include "user/report/text.h"

#include "user/record/record_read.h"
#include "user/report/columns.h"

#include "common/units.h"

#define SLOW_NS 900000000ULL /* less than the second after which a SYN is retransmitted */

/* Several repeats; several links. */
enum { RANGES = 1, LINKS = 2 };

#define RATE "/serving/answers_per_s"
#define TOOK "/app/elapsed_s"

static const struct column columns[] = {
	{"model", column__string, .path = "/load/server_model"},
	{"connections", column__number, .path = "/load/connections"},
	{"link", column__string, .path = "/load/link", .when = LINKS},
	{"answers/s", column__middle, .path = RATE, .unit = 1},
	{"(range)", column__range, .path = RATE, .unit = 1, .when = RANGES},
	{"elapsed s", column__middle, .path = TOOK, .unit = 1, .decimals = 3},
	{"(range)", column__range, .path = TOOK, .unit = 1, .decimals = 3, .when = RANGES},
	{"answer ms p50", column__percentile, .path = "/serving/answer_ns", .unit = 1e6,
	 .per_mille = 500},
	{"p99", column__percentile, .path = "/serving/answer_ns", .unit = 1e6, .per_mille = 990},
	{"max", column__percentile, .path = "/serving/answer_ns", .unit = 1e6},
	{"connect p99", column__percentile, .path = "/serving/connect_ns", .unit = 1e6,
	 .per_mille = 990},
	{"accept p50", column__percentile, .path = "/serving/accept_ns", .unit = 1e6,
	 .per_mille = 500},
	{"p99", column__percentile, .path = "/serving/accept_ns", .unit = 1e6, .per_mille = 990},
	{"work p50", column__percentile, .path = "/serving/work_ns", .unit = 1e6, .per_mille = 500},
	{"drops", column__sum, .path = "/tcp/listen_drops"},
	{"SYNs again", column__sum, .path = "/tcp/syn_retransmits"},
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static __u64 slower_than(const struct hist *h, __u64 ns)
{
	__u64 count = 0;
	__u32 i;

	for (i = 0; i < HIST_BUCKETS; i++)
		if (hist_low(i) >= ns)
			count += h->buckets[i];
	return count;
}

/* What went wrong between the two, in words. Returns whether anything did. */
static bool explain(const struct cell *cell, const struct cells *cells, FILE *out)
{
	double full = cell__sum_or(cell, "/tcp/listen_overflows", 0),
	       drops = cell__sum_or(cell, "/tcp/listen_drops", 0);
	double again = cell__sum_or(cell, "/tcp/syn_retransmits", 0),
	       lost = cell__sum_or(cell, "/serving/unanswered", 0);
	char title[64], a[UNITS_TEXT_MAX], b[UNITS_TEXT_MAX];
	struct hist answer;
	__u64 slow;

	cell__hist(cell, "/serving/answer_ns", &answer);
	slow = slower_than(&answer, SLOW_NS);
	if (full + drops + again + lost + (double)slow <= 0)
		return false;
	cell__title(cell, cells, title, sizeof(title));
	fprintf(out, "%s: %s of %s took a second or more", title, units__count_text(slow, a),
		units__counted_text((double)answer.count, "answer", b));
	if (full > 0)
		fprintf(out, "; the listen queue (--backlog %.0f) was full %s",
			record__value(cell->records[0], "/load/backlog"),
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
		fprintf(out, "; nothing was dropped or retransmitted: they waited for the server");
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
	unsigned int shown = (cells__repeats(cells) > 1 ? RANGES : 0) |
			     (cells__vary_text(cells, "/load/link") ? LINKS : 0);
	struct table t = {};
	bool any = false;
	size_t i;

	load_line(cells, out);
	table__heads(&t, columns, COLUMNS, shown);
	for (i = 0; i < cells->count; i++)
		table__data(&t, columns, COLUMNS, shown, &cells->cells[i]);
	table__print(&t, out);
	fputs("  answer: from connect() to its end; in it accept: from connected to taken by the "
	      "server,\n  work: from taken to answer ready. drops: by the listen queue; SYNs "
	      "again: sent once more\n\n",
	      out);
	for (i = 0; i < cells->count; i++)
		any |= explain(&cells->cells[i], cells, out);
	fputs(any ? "\n"
		  : "no connection was dropped, retransmitted or unanswered: what differs is the "
		    "servers' own doing\n\n",
	      out);
}
