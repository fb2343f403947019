// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sends by syscall and kind: of an observed program as a table, and which of them failed. */
#include "user/report/text.h"

#include "user/report/record_read.h"
#include "user/report/table.h"

#include "common/program.h"
#include "common/units.h"

#include <string.h>

#define INTERRUPTED "ERESTARTSYS" /* any that call_error_name() calls so */

const char *text__call_kind(json_object *call)
{
	if (!record__flag(call, "/zerocopy"))
		return "";
	return strcmp(record__string(call, "/notified_by"), "io_uring") ? " MSG_ZEROCOPY"
									: " SEND_ZC";
}

static double interrupted(json_object *call)
{
	return record__value(call, "/errors/" INTERRUPTED);
}

static double call_failures(json_object *call)
{
	const struct lh_entry *error;
	double sum = 0;

	for (error = record__members(call, "/errors"); error; error = lh_entry_next(error))
		sum += record__value((json_object *)lh_entry_v(error), "");
	return sum - interrupted(call);
}

static void failed(json_object *call, const char *title, FILE *out)
{
	const struct lh_entry *error;
	const char *before = " ";
	char name[64];

	fprintf(out, "failed: %s, %s%s:", title, record__string(call, "/syscall"),
		text__call_kind(call));
	for (error = record__members(call, "/errors"); error; error = lh_entry_next(error)) {
		safe_text(lh_entry_k(error), name, sizeof(name));
		if (!strcmp(name, INTERRUPTED))
			continue;
		fprintf(out, "%s%s %s", before, name,
			units__number_text(record__value((json_object *)lh_entry_v(error), "")));
		before = ", ";
	}
	fputc('\n', out);
}

static bool failures_of(json_object *record, const char *title, FILE *out)
{
	json_object *call;
	bool any = false;
	size_t i;

	for (i = 0; (call = record__row(record, "/calls", i)); i++) {
		if (call_failures(call) > 0)
			failed(call, title, out);
		/* Whether its handler has the kernel restart the call is settled afterwards. */
		if (interrupted(call) > 0)
			fprintf(out,
				"interrupted: %s, %s%s: %s by a signal (" INTERRUPTED
				"): the kernel restarts the send, or the program sees EINTR\n",
				title, record__string(call, "/syscall"), text__call_kind(call),
				units__counted_text(interrupted(call), "send"));
		any |= record__members(call, "/errors") != NULL;
	}
	return any;
}

static const char *name(const void *call, const struct column *column)
{
	(void)column;
	return units__text("%s%s", record__string((json_object *)call, "/syscall"),
			   text__call_kind((json_object *)call));
}

/* The unit is the seconds that it took. */
static const char *mbit_per_s(const void *call, const struct column *column)
{
	double mbit = record__value((json_object *)call, column->path) * 8 / 1e6;

	return units__decimal_text(column->unit > 0 ? mbit / column->unit : 0, mbit < 1000 ? 2 : 0);
}

static const char *percentile(const void *call, const struct column *column)
{
	struct hist h = {};

	record__add_hist(&h, record__at((json_object *)call, column->path));
	return column__hist(&h, column);
}

static const char *failures(const void *call, const struct column *column)
{
	(void)column;
	return units__number_text(call_failures((json_object *)call));
}

/* A report without them would look complete. */
static void others(json_object *record, FILE *out)
{
	double mptcp = record__value(record, "/observed/others/mptcp_sends");
	double bytes = record__value(record, "/observed/others/mptcp_bytes");
	double zerocopy = record__value(record, "/observed/others/zerocopy_requests");

	if (mptcp > 0)
		fprintf(out, "not measured: %s sends by MPTCP, %s bytes\n",
			units__number_text(mptcp), units__number_text(bytes));
	if (zerocopy > 0)
		fprintf(out, "not measured: %s by MPTCP, or protocols other than TCP\n",
			units__counted_text(zerocopy, "zero-copy request"));
}

/* Says that there were none only of those that could have been seen. */
static void no_sends(json_object *record, FILE *out)
{
	fputs("no TCP sends were seen", out);
	if (!text__unseen(record) && !record__at(record, "/observed/others"))
		fputs("; sends by MPTCP are not seen here", out);
	fputc('\n', out);
	others(record, out);
}

static void observation(json_object *record, FILE *out)
{
	double in_flight = record__value(record, "/observed/in_flight");
	const struct column columns[] = {
		{"call", .text = name},
		{"sends", column__count, .path = "/sends"},
		{"bytes", column__count, .path = "/bytes"},
		{"Mbit/s", mbit_per_s, .path = "/bytes",
		 .unit = record__value(record, "/observed/seconds")},
		{"us/send", column__mean_time, "/wall_ns/sum", "/wall_ns/count", .unit = 1e3},
		{"p50", percentile, .path = "/wall_ns", .unit = 1e3, .per_mille = 500},
		{"p99", percentile, .path = "/wall_ns", .unit = 1e3, .per_mille = 990},
		{"failed", .text = failures},
	};
	const size_t count = sizeof(columns) / sizeof(columns[0]);
	json_object *call;
	struct table t = {};
	size_t i;

	if (!record__row(record, "/calls", 0)) {
		no_sends(record, out);
		fputc('\n', out);
		return;
	}
	table__heads(&t, columns, count, 0);
	for (i = 0; (call = record__row(record, "/calls", i)); i++)
		table__data(&t, columns, count, 0, call);
	table__print(&t, out);
	others(record, out);
	if (in_flight > 0)
		fprintf(out, "%s still under way when the window closed\n",
			units__counted_text(in_flight, "send"));
	fputc('\n', out);
}

void text__observed(const struct cells *cells, FILE *out)
{
	size_t i;

	for (i = 0; i < cells->count; i++)
		observation(cells->cells[i].records[0], out);
}

void text__failures(const struct cells *cells, FILE *out)
{
	char title[96];
	bool any = false;
	size_t i, j;

	for (i = 0; i < cells->count; i++) {
		for (j = 0; j < cells->cells[i].count; j++) {
			cell__repeat_title(&cells->cells[i], j, title, sizeof(title));
			any |= failures_of(cells->cells[i].records[j], title, out);
		}
	}
	if (any)
		fputc('\n', out);
}
