// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What TCP did, where it says something: a line a cell, none where all went smoothly; and
   what packets the sends became. */
#include "user/report/text.h"

#include "user/report/record_read.h"

#include "common/units.h"

#include <stdio.h>

static const struct {
	const char *path, *unit, *words;
} rows[] = {
	{"/tcp/sending/retransmits", "segment", " retransmitted by the sending sockets"},
	{"/tcp/timeouts", "retransmission timeout", ""},
	{"/tcp/zero_windows", "zero receive window", ""},
	{"/tcp/receive_queue_drops", "packet", " dropped for want of room in a receive queue"},
	{"/tcp/backlog_drops", "packet", " dropped for want of room in a socket's backlog"},
	{"/tcp/memory_pressures", "time", " TCP was short of memory"},
};

static bool say(const struct cell *cell, FILE *out)
{
	size_t i, said = 0;
	double value;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!cell__sum(cell, rows[i].path, &value) || value <= 0)
			continue;
		if (!said++)
			fprintf(out, "TCP, %s: ", cell->title);
		fprintf(out, "%s%s%s", said > 1 ? ", " : "",
			units__counted_text(value, rows[i].unit), rows[i].words);
	}
	if (!said)
		return false;
	if (cell__sum(cell, "/tcp/sending/cwnd_mean", &value))
		fprintf(out, "; congestion window %s at the end",
			units__counted_text(value / (double)cell->count, "segment"));
	if (cell__sum(cell, "/tcp/sending/rtt_mean_us", &value))
		fprintf(out, ", round trip %s us", units__number_text(value / (double)cell->count));
	fputc('\n', out);
	return true;
}

/* How full the packets were; all repeats count alike. */
static bool say_packets(const struct cell *cell, bool first, FILE *out)
{
	double skbs, frags;

	if (!cell__sum(cell, "/tcp/skbs_per_send", &skbs) ||
	    !cell__sum(cell, "/tcp/frags_per_skb", &frags))
		return false;
	fprintf(out, "%s%s %.3g (%.3g)", first ? "skbs per send (frags per skb): " : ", ",
		cell->title, skbs / (double)cell->count, frags / (double)cell->count);
	return true;
}

void text__tcp(const struct cells *cells, FILE *out)
{
	bool any = false, packets = false;
	size_t i;

	for (i = 0; i < cells->count; i++)
		any |= say(&cells->cells[i], out);
	for (i = 0; i < cells->count; i++)
		packets |= say_packets(&cells->cells[i], !packets, out);
	fputs(packets ? "\n\n" : any ? "\n" : "", out);
}
