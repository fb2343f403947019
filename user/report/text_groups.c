// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The groups that --by asks for: a table a run, the largest first. */
#include "user/report/text.h"

#include "user/report/record_read.h"
#include "user/report/table.h"

#include "common/units.h"

#include <stdbool.h>
#include <string.h>

#define ROWS_MAX 20

/* Dimensions of the groups. */
enum { PROCESS = 1, PORT = 2, DEVICE = 4, NAMESPACES = 8 };

static bool has(json_object *by, const char *dimension)
{
	json_object *one;
	size_t i;

	for (i = 0; (one = record__row(by, "/dimensions", i)); i++)
		if (!strcmp(record__string(one, ""), dimension))
			return true;
	return false;
}

/* Names of devices are unique in a network namespace only. */
static bool several_namespaces(json_object *by)
{
	size_t i, count = record__length(by, "/groups");

	for (i = 1; i < count; i++)
		if (record__value(record__row(by, "/groups", i), "/netns") !=
		    record__value(record__row(by, "/groups", 0), "/netns"))
			return true;
	return false;
}

static const char *process(const void *group, const struct column *column)
{
	(void)column;
	return record__string((json_object *)group, "/comm");
}

static const char *pid(const void *data, const struct column *column)
{
	json_object *group = (json_object *)data;

	(void)column;
	return record__at(group, "/pid") ? units__text("%.0f", record__value(group, "/pid"))
					 : "other ns";
}

/* Names of devices are unique in a network namespace only. */
static const char *device(const void *data, const struct column *column)
{
	json_object *group = (json_object *)data;
	const char *name =
		record__at(group, "/device") ? record__string(group, "/device") : "no route";

	if (column->when & NAMESPACES)
		return units__text("%.30s@%.0f", name, record__value(group, "/netns"));
	return units__text("%.47s", name);
}

static const char *receiver(const void *data, const struct column *column)
{
	json_object *group = (json_object *)data;
	const char *address = record__string(group, "/remote_address");

	(void)column;
	return units__text(strchr(address, ':') ? "[%.38s]:%.0f" : "%.38s:%.0f",
			   address[0] ? address : "*", record__value(group, "/remote_port"));
}

static const char *copied(const void *data, const struct column *column)
{
	json_object *group = (json_object *)data;
	double part;

	return record__number(group, column->path, &part) && record__value(group, column->per) > 0
		       ? units__percent_text(part, record__value(group, column->per))
		       : NULL;
}

static const struct column columns[] = {
	{"process", process, .when = PROCESS},
	{"pid", pid, .when = PROCESS},
	{"device", device, .when = DEVICE},
	{"device", device, .when = NAMESPACES},
	{"to", receiver, .when = PORT},
	{"sends", column__count, .path = "/sends"},
	{"bytes", column__count, .path = "/bytes"},
	{"us/send", column__mean_time, .path = "/wall_ns/sum", .per = "/wall_ns/count",
	 .unit = 1e3},
	{"failed", column__count, .path = "/failed", .per = "/interrupted"},
	{"zero-copy", column__count, .path = "/zerocopy/requests"},
	{"copied", copied, .path = "/zerocopy/copied", .per = "/zerocopy/completions"},
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void print(json_object *by, const char *title, FILE *out)
{
	size_t i, count = record__length(by, "/groups");
	json_object *one, *rest = record__at(by, "/rest");
	unsigned int shown = (has(by, "process") ? PROCESS : 0) | (has(by, "port") ? PORT : 0);
	struct table t = {};

	fprintf(out, "by ");
	for (i = 0; (one = record__row(by, "/dimensions", i)); i++)
		fprintf(out, "%s%s", i ? ", " : "", record__string(one, ""));
	fprintf(out, ": %s, most bytes first\n", title);
	if (has(by, "device"))
		shown |= several_namespaces(by) ? NAMESPACES : DEVICE;
	t.keys = (size_t)__builtin_popcount(shown) + (shown & PROCESS);
	table__heads(&t, columns, COLUMNS, shown);
	for (i = 0; i < count && i < ROWS_MAX; i++)
		table__data(&t, columns, COLUMNS, shown, record__row(by, "/groups", i));
	table__print(&t, out);
	if (count > ROWS_MAX)
		fprintf(out, "and %s more (--json has all of them)\n",
			units__count_text(count - ROWS_MAX));
	if (rest)
		fprintf(out, "and %s of groups for which there was no room (--by-max)\n",
			units__counted_text(record__value(rest, "/sends"), "send"));
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
			cell__repeat_title(&cells->cells[i], j, title, sizeof(title));
			if (record__row(by, "/groups", 0))
				print(by, title, out);
		}
	}
}
