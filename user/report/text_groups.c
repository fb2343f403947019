// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The groups that --by asks for: a table a run, the largest first. */
#include "user/report/text.h"

#include "user/record/record_read.h"
#include "user/report/table.h"
#include "user/system/safe_text.h"

#include "loadgen/system/units.h"

#include <stdbool.h>
#include <string.h>

#define ROWS_MAX 20

static bool has(json_object *by, const char *dimension)
{
	json_object *list = record__at(by, "/dimensions");
	size_t i;

	for (i = 0; list && i < json_object_array_length(list); i++)
		if (!strcmp(json_object_get_string(json_object_array_get_idx(list, i)), dimension))
			return true;
	return false;
}

static json_object *nth(json_object *by, size_t i)
{
	return json_object_array_get_idx(record__at(by, "/groups"), i);
}

static double figure(json_object *group, const char *path)
{
	double value = 0;

	record__number(group, path, &value);
	return value;
}

/* Names of devices are unique in a network namespace only. */
static bool several_namespaces(json_object *by)
{
	size_t i, count = json_object_array_length(record__at(by, "/groups"));

	for (i = 1; i < count; i++)
		if (figure(nth(by, i), "/netns") != figure(nth(by, 0), "/netns"))
			return true;
	return false;
}

static void device_cell(struct table *t, json_object *group, bool several)
{
	char name[4 * 16 + 1] = "no route";

	if (record__at(group, "/device"))
		safe_text(record__string(group, "/device"), name, sizeof(name));
	if (several)
		table__cell(t, "%s@%.0f", name, figure(group, "/netns"));
	else
		table__cell(t, "%s", name);
}

static void receiver_cell(struct table *t, json_object *group)
{
	const char *address = record__string(group, "/remote_address");

	table__cell(t, strchr(address, ':') ? "[%s]:%.0f" : "%s:%.0f", address[0] ? address : "*",
		    figure(group, "/remote_port"));
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
	double timed = figure(group, "/wall_ns/count"), completions, copied;
	char text[UNITS_TEXT_MAX];

	count_cell(t, figure(group, "/sends"));
	count_cell(t, figure(group, "/bytes"));
	if (timed > 0)
		table__cell(
			t, "%s",
			units__decimal_text(figure(group, "/wall_ns/sum") / timed / 1e3, 2, text));
	else
		table__cell(t, "-");
	count_cell(t, figure(group, "/failed") - figure(group, "/interrupted"));
	count_cell(t, figure(group, "/zerocopy/requests"));
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
			table__cell(t, "%.0f", figure(group, "/pid"));
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
		row(&t, by, nth(by, i), several);
	table__print(&t, out);
	if (count > ROWS_MAX)
		fprintf(out, "and %s more (--json has all of them)\n",
			units__count_text(count - ROWS_MAX, text));
	if (rest)
		fprintf(out, "and %s of groups for which there was no room (--by-max)\n",
			units__counted_text(figure(rest, "/sends"), "send", text));
	fputc('\n', out);
}

void text__groups(const struct cells *cells, FILE *out)
{
	json_object *record, *by;
	char title[64], repeat[96];
	size_t i, j;

	for (i = 0; i < cells->count; i++) {
		cell__title(&cells->cells[i], cells, title, sizeof(title));
		for (j = 0; j < cells->cells[i].count; j++) {
			record = cells->cells[i].records[j];
			by = record__at(record, "/by");
			snprintf(repeat, sizeof(repeat), "%s, repeat %zu", title, j + 1);
			if (by && json_object_array_length(record__at(by, "/groups")))
				print(by, cells->cells[i].count > 1 ? repeat : title, out);
		}
	}
}
