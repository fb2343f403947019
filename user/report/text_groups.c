// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The groups that --by asks for: a table a run, the largest first. */
#include "user/report/text.h"

#include "common/safe_text.h"
#include "user/record/record_read.h"
#include "user/report/table.h"

#include "common/units.h"

#include <stdbool.h>
#include <string.h>

#define ROWS_MAX 20

static bool has(json_object *by, const char *dimension)
{
	json_object *one;
	size_t i;

	for (i = 0; (one = record__row(by, "/dimensions", i)); i++)
		if (!strcmp(json_object_get_string(one), dimension))
			return true;
	return false;
}

/* Names of devices are unique in a network namespace only. */
static bool several_namespaces(json_object *by)
{
	size_t i, count = json_object_array_length(record__at(by, "/groups"));

	for (i = 1; i < count; i++)
		if (record__value(record__row(by, "/groups", i), "/netns") !=
		    record__value(record__row(by, "/groups", 0), "/netns"))
			return true;
	return false;
}

static void device_cell(struct table *t, json_object *group, bool several)
{
	char name[4 * 16 + 1] = "no route";

	if (record__at(group, "/device"))
		safe_text(record__string(group, "/device"), name, sizeof(name));
	if (several)
		table__cell(t, "%s@%.0f", name, record__value(group, "/netns"));
	else
		table__cell(t, "%s", name);
}

static void receiver_cell(struct table *t, json_object *group)
{
	const char *address = record__string(group, "/remote_address");

	table__cell(t, strchr(address, ':') ? "[%s]:%.0f" : "%s:%.0f", address[0] ? address : "*",
		    record__value(group, "/remote_port"));
}

static void heads(struct table *t, json_object *by)
{
	static const char *const names[] = {"sends",  "bytes",	   "us/send mean",
					    "failed", "zero-copy", "copied"};
	size_t i;

	table__row(t);
	if (has(by, "process")) {
		table__cell(t, "process");
		table__cell(t, "pid");
	}
	if (has(by, "device"))
		table__cell(t, "device");
	if (has(by, "port"))
		table__cell(t, "to");
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		table__cell(t, "%s", names[i]);
}

static void count_cell(struct table *t, double count)
{
	char text[UNITS_TEXT_MAX];

	table__cell(t, "%s", units__number_text(count, text));
}

static void figures(struct table *t, json_object *group)
{
	double timed = record__value(group, "/wall_ns/count"), completions, copied;
	char text[UNITS_TEXT_MAX];

	count_cell(t, record__value(group, "/sends"));
	count_cell(t, record__value(group, "/bytes"));
	if (timed > 0)
		table__cell(t, "%s",
			    units__decimal_text(record__value(group, "/wall_ns/sum") / timed / 1e3,
						2, text));
	else
		table__cell(t, "-");
	count_cell(t, record__value(group, "/failed") - record__value(group, "/interrupted"));
	count_cell(t, record__value(group, "/zerocopy/requests"));
	if (record__number(group, "/zerocopy/completions", &completions) && completions > 0 &&
	    record__number(group, "/zerocopy/copied", &copied))
		table__cell(t, "%s", units__percent_text(copied, completions, text));
	else
		table__cell(t, "-");
}

static void row(struct table *t, json_object *by, json_object *group, bool several)
{
	char comm[4 * 16 + 1];

	table__row(t);
	if (has(by, "process")) {
		table__cell(t, "%s", safe_text(record__string(group, "/comm"), comm, sizeof(comm)));
		if (record__at(group, "/pid"))
			table__cell(t, "%.0f", record__value(group, "/pid"));
		else
			table__cell(t, "other ns");
	}
	if (has(by, "device"))
		device_cell(t, group, several);
	if (has(by, "port"))
		receiver_cell(t, group);
	figures(t, group);
}

static void print(json_object *by, const char *title, FILE *out)
{
	size_t i, count = json_object_array_length(record__at(by, "/groups"));
	json_object *list = record__at(by, "/dimensions"), *rest = record__at(by, "/rest");
	bool several = has(by, "device") && several_namespaces(by);
	char text[UNITS_TEXT_MAX];
	struct table t = {};

	fprintf(out, "by ");
	for (i = 0; i < json_object_array_length(list); i++)
		fprintf(out, "%s%s", i ? ", " : "",
			json_object_get_string(json_object_array_get_idx(list, i)));
	fprintf(out, ": %s, most bytes first\n", title);
	heads(&t, by);
	for (i = 0; i < count && i < ROWS_MAX; i++)
		row(&t, by, record__row(by, "/groups", i), several);
	table__print(&t, out);
	if (count > ROWS_MAX)
		fprintf(out, "and %s more (--json has all of them)\n",
			units__count_text(count - ROWS_MAX, text));
	if (rest)
		fprintf(out, "and %s of groups for which there was no room (--by-max)\n",
			units__counted_text(record__value(rest, "/sends"), "send", text));
	fputc('\n', out);
}

void text__groups(const struct cells *cells, FILE *out)
{
	json_object *by;
	char title[96];
	size_t i, j;

	for (i = 0; i < cells->count; i++) {
		for (j = 0; j < cells->cells[i].count; j++) {
			by = record__at(cells->cells[i].records[j], "/by");
			cell__repeat_title(&cells->cells[i], cells, j, title, sizeof(title));
			if (record__row(by, "/groups", 0))
				print(by, title, out);
		}
	}
}
