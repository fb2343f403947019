// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What an observed program sent: one row a syscall and kind of send. */
#include "user/report/text.h"

#include "user/record/record_read.h"
#include "user/report/table.h"
#include "user/system/safe_text.h"

#include "loadgen/system/hist_stats.h"
#include "loadgen/system/units.h"

static void heads(struct table *t)
{
	static const char *const names[] = {"call",	   "sends", "bytes", "bytes/send", "Mbit/s",
					    "us/send p50", "p99",   "p99.9", "failed"};
	size_t i;

	table__row(t);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		table__cell(t, "%s", names[i]);
}

static void times(struct table *t, json_object *call)
{
	static const unsigned int per_mille[] = {500, 990, 999};
	char text[UNITS_TEXT_MAX];
	struct hist h = {};
	size_t i;

	if (record__at(call, "/wall_ns"))
		record__add_hist(&h, record__at(call, "/wall_ns"));
	for (i = 0; i < 3; i++)
		if (h.count)
			table__cell(t, "%s",
				    units__decimal_text((double)hist__percentile(&h, per_mille[i]) /
								1e3,
							2, text));
		else
			table__cell(t, "-");
}

static void row(struct table *t, json_object *call, double seconds)
{
	char text[UNITS_TEXT_MAX];
	double sends = 0, bytes = 0;

	record__number(call, "/sends", &sends);
	record__number(call, "/bytes", &bytes);
	table__row(t);
	table__cell(t, "%s%s", record__string(call, "/syscall"), text__call_kind(call));
	table__cell(t, "%s", units__number_text(sends, text));
	table__cell(t, "%s", units__number_text(bytes, text));
	table__cell(t, "%s", units__number_text(sends > 0 ? bytes / sends : 0, text));
	table__cell(t, "%s",
		    units__decimal_text(seconds > 0 ? bytes * 8 / 1e6 / seconds : 0, 2, text));
	times(t, call);
	table__cell(t, "%s", units__number_text(text__call_failures(call), text));
}

/* A report without them would look complete. */
static void others(json_object *record, FILE *out)
{
	double mptcp = 0, bytes = 0, zerocopy = 0;
	char a[UNITS_TEXT_MAX], b[UNITS_TEXT_MAX];

	record__number(record, "/observed/others/mptcp_sends", &mptcp);
	record__number(record, "/observed/others/mptcp_bytes", &bytes);
	record__number(record, "/observed/others/zerocopy_requests", &zerocopy);
	if (mptcp > 0)
		fprintf(out, "not measured: %s sends by MPTCP, %s bytes\n",
			units__count_text((unsigned long long)mptcp, a),
			units__count_text((unsigned long long)bytes, b));
	if (zerocopy > 0)
		fprintf(out, "not measured: %s zero-copy sends by protocols other than TCP\n",
			units__count_text((unsigned long long)zerocopy, a));
}

static void observation(json_object *record, FILE *out)
{
	json_object *calls = record__at(record, "/calls");
	const char *what = record__string(record, "/observed/what");
	char safe[4 * 512], text[UNITS_TEXT_MAX];
	double seconds = 0, in_flight = 0;
	struct table t = {};
	size_t i;

	record__number(record, "/observed/seconds", &seconds);
	record__number(record, "/observed/in_flight", &in_flight);
	fprintf(out, "observed: %s | %s s\n\n", safe_text(what, safe, sizeof(safe)),
		units__decimal_text(seconds, 1, text));
	if (!calls || !json_object_array_length(calls)) {
		fputs("no TCP sends were seen\n", out);
		others(record, out);
		fputc('\n', out);
		return;
	}
	heads(&t);
	for (i = 0; i < json_object_array_length(calls); i++)
		row(&t, json_object_array_get_idx(calls, i), seconds);
	table__print(&t, out);
	others(record, out);
	if (in_flight > 0)
		fprintf(out, "%s still under way when the window closed\n",
			units__counted_text(in_flight, "send", text));
	fputc('\n', out);
}

void text__observed(const struct cells *cells, FILE *out)
{
	size_t i;

	for (i = 0; i < cells->count; i++)
		observation(cells->cells[i].records[0], out);
}
