// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What an observed program sent: one row a syscall and kind of send. */
#include "user/report/text.h"

#include "common/safe_text.h"
#include "user/record/record_read.h"
#include "user/report/columns.h"

#include "common/units.h"

struct row {
	json_object *call;
	double seconds;
};

static void name(const void *row, const struct column *column, char text[TABLE_CELL])
{
	json_object *call = ((const struct row *)row)->call;

	(void)column;
	snprintf(text, TABLE_CELL, "%s%s", record__string(call, "/syscall"), text__call_kind(call));
}

static void number(const void *row, const struct column *column, char text[TABLE_CELL])
{
	units__number_text(record__value(((const struct row *)row)->call, column->path), text);
}

static void bytes_per_send(const void *row, const struct column *column, char text[TABLE_CELL])
{
	json_object *call = ((const struct row *)row)->call;
	double sends = record__value(call, column->per);

	units__number_text(sends > 0 ? record__value(call, column->path) / sends : 0, text);
}

static void mbit_per_s(const void *row, const struct column *column, char text[TABLE_CELL])
{
	const struct row *r = row;
	double mbit = record__value(r->call, column->path) * 8 / 1e6;

	units__decimal_text(r->seconds > 0 ? mbit / r->seconds : 0, 2, text);
}

static void percentile(const void *row, const struct column *column, char text[TABLE_CELL])
{
	struct hist h = {};

	record__add_hist(&h, record__at(((const struct row *)row)->call, "/wall_ns"));
	column__hist(&h, column, text);
}

static void failed(const void *row, const struct column *column, char text[TABLE_CELL])
{
	(void)column;
	units__number_text(text__call_failures(((const struct row *)row)->call), text);
}

static const struct column columns[] = {
	{"call", .write = name},
	{"sends", number, .path = "/sends"},
	{"bytes", number, .path = "/bytes"},
	{"bytes/send", bytes_per_send, .path = "/bytes", .per = "/sends"},
	{"Mbit/s", mbit_per_s, .path = "/bytes"},
	{"us/send p50", percentile, .unit = 1e3, .per_mille = 500},
	{"p99", percentile, .unit = 1e3, .per_mille = 990},
	{"p99.9", percentile, .unit = 1e3, .per_mille = 999},
	{"failed", .write = failed},
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* A report without them would look complete. */
static void others(json_object *record, FILE *out)
{
	double mptcp = record__value(record, "/observed/others/mptcp_sends");
	double bytes = record__value(record, "/observed/others/mptcp_bytes");
	double zerocopy = record__value(record, "/observed/others/zerocopy_requests");
	char a[UNITS_TEXT_MAX], b[UNITS_TEXT_MAX];

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
	const char *what = record__string(record, "/observed/what");
	char safe[4 * 512], text[UNITS_TEXT_MAX];
	double in_flight = record__value(record, "/observed/in_flight");
	struct row row = {.seconds = record__value(record, "/observed/seconds")};
	struct table t = {};
	size_t i;

	fprintf(out, "observed: %s | %s s\n\n", safe_text(what, safe, sizeof(safe)),
		units__decimal_text(row.seconds, 1, text));
	if (!record__row(record, "/calls", 0)) {
		fputs("no TCP sends were seen\n", out);
		others(record, out);
		fputc('\n', out);
		return;
	}
	table__heads(&t, columns, COLUMNS, 0);
	for (i = 0; (row.call = record__row(record, "/calls", i)); i++)
		table__data(&t, columns, COLUMNS, 0, &row);
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
