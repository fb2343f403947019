// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Many connections: a row a server model and number of connections; why some are slow. */
#include "user/report/text.h"

#include "user/report/record_read.h"
#include "user/report/table.h"

#include "common/units.h"

#define SLOW_NS	    900000000ULL /* less than the second after which a SYN is retransmitted */
#define WAITED_MUCH 0.1

/* One repeat, or several; several links. */
enum { ONE = 1, RANGES = 2, LINKS = 4 };

#define RATE "/serving/answers_per_s"
#define TOOK "/app/elapsed_s"

static const struct column columns[] = {
	{"model", column__string, .path = "/load/server_model"},
	{"connections", column__number, .path = "/load/connections"},
	{"link", column__string, .path = "/load/link", .when = LINKS},
	{"answers/s", column__middle, .path = RATE, .unit = 1, .when = ONE},
	{"answers/s (range)", column__range, .path = RATE, .unit = 1, .when = RANGES},
	{"elapsed s", column__middle, .path = TOOK, .unit = 1, .decimals = 3, .when = ONE},
	{"elapsed s (range)", column__range, .path = TOOK, .unit = 1, .decimals = 3,
	 .when = RANGES},
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
static bool explain(const struct cell *cell, FILE *out)
{
	double full = cell__sum_or(cell, "/tcp/listen_overflows", 0),
	       drops = cell__sum_or(cell, "/tcp/listen_drops", 0);
	double again = cell__sum_or(cell, "/tcp/syn_retransmits", 0),
	       lost = cell__sum_or(cell, "/serving/unanswered", 0);
	struct spread waited = cell__spread(cell, "/noise/sender_waited_share");
	struct hist answer;
	__u64 slow;

	cell__hist(cell, "/serving/answer_ns", &answer);
	slow = slower_than(&answer, SLOW_NS);
	if (full + drops + again + lost + (double)slow <= 0)
		return false;
	fprintf(out, "%s: %s of %s took a second or more", cell->title, units__count_text(slow),
		units__counted_text((double)answer.count, "answer"));
	if (full > 0)
		fprintf(out, "; the listen queue (--backlog %.0f) was full %s",
			record__value(cell->records[0], "/load/backlog"),
			units__counted_text(full, "time"));
	if (drops > full)
		fprintf(out, "; dropped: %s", units__counted_text(drops - full, "SYN"));
	if (again > 0)
		fprintf(out, "; retransmitted after 1, 2, 4 s: %s or SYN-ACKs",
			units__counted_text(again, "SYN"));
	if (lost > 0)
		fprintf(out,
			"; established for the client and never answered, because the server had "
			"dropped the end of the handshake: %s",
			units__counted_text(lost, "connection"));
	if (full + drops + again + lost <= 0)
		fprintf(out, "; nothing was dropped or retransmitted: they waited for the server");
	if (waited.middle >= WAITED_MUCH)
		fprintf(out,
			"; the server itself waited for a CPU in %.0f %% of the time in which it "
			"could "
			"run",
			100 * waited.middle);
	fputs("\n", out);
	return true;
}

void text__serving(const struct cells *cells, FILE *out)
{
	bool links = cells__vary(cells, "/load/link");
	unsigned int shown = (cells__repeats(cells) > 1 ? RANGES : ONE) | (links ? LINKS : 0);
	bool any = false;
	size_t i;

	table__print_cells(cells, links ? 3 : 2, columns, COLUMNS, shown, out);
	fputs("answer: from connect() to its end; in it accept: from connected to taken by the "
	      "server, work: from taken to answer ready. drops: by the listen queue; SYNs again: "
	      "retransmitted\n\n",
	      out);
	for (i = 0; i < cells->count; i++)
		any |= explain(&cells->cells[i], out);
	fputs(any ? "\n"
		  : "no connection was dropped, retransmitted or unanswered: what differs is the "
		    "servers' own doing\n\n",
	      out);
}
