// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What an observed program sent: one row a syscall and kind of send. */
#include "user/report/text.h"

#include "user/record/record_read.h"
#include "user/report/table.h"
#include "user/system/safe_text.h"

#include "loadgen/system/hist_stats.h"
#include "loadgen/system/units.h"

#include <string.h>

static void heads(struct table *t)
{
	static const char *const names[] = {"call",	   "sends", "bytes", "bytes/send", "Mbit/s",
					    "us/send p50", "p99",   "p99.9", "failed"};
	size_t i;

	table__row(t);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		table__cell(t, "%s", names[i]);
}

static double failures(json_object *call)
{
	json_object *errors = record__at(call, "/errors");
	double sum = 0;

	json_object_object_foreach (errors, name, count) {
		(void)name;
		sum += json_object_get_double(count);
	}
	return sum;
}

static void times(struct table *t, json_object *call)
{
	static const unsigned int per_mille[] = {500, 990, 999};
	struct hist h = {};
	size_t i;

	if (record__at(call, "/wall_ns"))
		record__add_hist(&h, record__at(call, "/wall_ns"));
	for (i = 0; i < 3; i++)
		if (h.count)
			table__cell(t, "%.2f", (double)hist__percentile(&h, per_mille[i]) / 1e3);
		else
			table__cell(t, "-");
}

static const char *kind(json_object *call)
{
	if (!json_object_get_boolean(record__at(call, "/zerocopy")))
		return "";
	return strcmp(record__string(call, "/notified_by"), "io_uring") ? " MSG_ZEROCOPY"
									: " SEND_ZC";
}

static void row(struct table *t, json_object *call, double seconds)
{
	char text[UNITS_TEXT_MAX];
	double sends = 0, bytes = 0;

	record__number(call, "/sends", &sends);
	record__number(call, "/bytes", &bytes);
	table__row(t);
	table__cell(t, "%s%s", record__string(call, "/syscall"), kind(call));
	table__cell(t, "%s", units__count_text((unsigned long long)sends, text));
	table__cell(t, "%s", units__count_text((unsigned long long)bytes, text));
	table__cell(t, "%.0f", sends > 0 ? bytes / sends : 0);
	table__cell(t, "%.2f", seconds > 0 ? bytes * 8 / 1e6 / seconds : 0);
	times(t, call);
	table__cell(t, "%.0f", failures(call));
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
	char safe[4 * 512];
	double seconds = 0, in_flight = 0;
	struct table t = {};
	size_t i;

	record__number(record, "/observed/seconds", &seconds);
	record__number(record, "/observed/in_flight", &in_flight);
	fprintf(out, "observed: %s | %.1f s\n\n", safe_text(what, safe, sizeof(safe)), seconds);
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
		fprintf(out, "still under way when the window closed: %.0f\n", in_flight);
	fputc('\n', out);
}

void text__observed(const struct cells *cells, FILE *out)
{
	size_t i;

	for (i = 0; i < cells->count; i++)
		observation(cells->cells[i].records[0], out);
}
