// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/memory/memory_counts.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FIELDS 5 /* value, unit, event, time, share of it */

static void add_event(struct memory_choice *c, const struct memory_event *e)
{
	struct memory_asked *asked = &c->events[c->count++];

	asked->event = e;
	if (e->pmu)
		snprintf(asked->name, sizeof(asked->name), "%s/%s/", e->pmu, e->name);
	else
		snprintf(asked->name, sizeof(asked->name), "%s", e->name);
}

void memory__choose(struct memory_choice *c, memory_has has, const void *context)
{
	const struct memory_source *s;
	const struct memory_event *e;
	size_t i;

	*c = (struct memory_choice){};
	for (i = 0; i < memory_source_count; i++) {
		s = &memory_sources[i];
		if (c->sources[s->kind] || !has(context, s->events[0].pmu, s->events[0].name))
			continue;
		c->sources[s->kind] = s;
		for (e = s->events; e->name; e++)
			if (has(context, e->pmu, e->name))
				add_event(c, e);
	}
}

/* Splits a line at its semicolons; how many fields there were. */
static size_t split(char *line, char *fields[FIELDS])
{
	size_t count = 0;
	char *end;

	while (count < FIELDS) {
		fields[count++] = line;
		end = strchr(line, ';');
		if (!end)
			break;
		*end = 0;
		line = end + 1;
	}
	return count;
}

bool memory__is_box(const char *device, size_t length, const char *pmu, size_t pmu_length)
{
	size_t rest = length - pmu_length;

	if (length < pmu_length || strncmp(device, pmu, pmu_length))
		return false;
	device += pmu_length;
	return !rest ||
	       (rest > 1 && device[0] == '_' && strspn(device + 1, "0123456789") == rest - 1);
}

/*
 * "uncore_imc_3/cas_count_read/u" is of "uncore_imc/cas_count_read/": some versions of
 * perf have a line for each box, and add letters.
 */
static bool is_of(const char *line, const char *asked)
{
	const char *slash = strchr(asked, '/'), *line_slash = strchr(line, '/');
	size_t device = slash ? (size_t)(slash - asked) : 0, rest;

	if (!slash) { /* a name of perf's: by itself, or as "amd_umc_0/NAME/" */
		line = line_slash ? line_slash + 1 : line;
		rest = strlen(asked);
		return !strncasecmp(line, asked, rest) && (!line[rest] || line[rest] == '/');
	}
	if (!line_slash)
		return false;
	if (!memory__is_box(line, (size_t)(line_slash - line), asked, device))
		return false;
	return !strncmp(line_slash, slash, strlen(slash));
}

/* Bytes of one of these; 0: no unit of memory. */
static double unit_bytes(const char *unit)
{
	static const struct {
		const char *unit;
		double bytes;
	} units[] = {{"Bytes", 1},	  {"B", 1},    {"KiB", 1024}, {"MiB", 1048576},
		     {"GiB", 1073741824}, {"KB", 1e3}, {"MB", 1e6},   {"GB", 1e9}};
	size_t i;

	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(units[i].unit, unit))
			return units[i].bytes;
	return 0;
}

/* Of several boxes all must have been counted. */
static void worsen(struct memory_count *count, enum memory_status status)
{
	if (count->status == MEMORY_ABSENT || count->status == MEMORY_COUNTED)
		count->status = status;
}

static void parse_count(struct memory_count *count, const struct memory_event *e,
			char *const fields[])
{
	double value, running = strtod(fields[4], NULL) / 100, bytes;
	char *end;

	value = strtod(fields[0], &end);
	if (!strcmp(fields[0], "<not supported>"))
		return worsen(count, MEMORY_NOT_SUPPORTED);
	bytes = fields[1][0] ? unit_bytes(fields[1]) : e->bytes;
	if (end == fields[0] || *end || bytes <= 0)
		return worsen(count, MEMORY_NOT_COUNTED);
	if (count->status == MEMORY_ABSENT) {
		count->status = MEMORY_COUNTED;
		count->running = running;
	}
	if (running < count->running)
		count->running = running;
	snprintf(count->unit, sizeof(count->unit), "%.15s", fields[1]);
	count->value += value;
	count->bytes += value * bytes;
}

static void take_line(struct memory_counts *counts, const struct memory_choice *c, char *line)
{
	char *fields[FIELDS];
	size_t i;

	if (split(line, fields) < FIELDS)
		return;
	for (i = 0; i < c->count; i++)
		if (is_of(fields[2], c->events[i].name))
			return parse_count(&counts->events[i], c->events[i].event, fields);
}

void memory__parse(struct memory_counts *counts, const struct memory_choice *c, const char *text)
{
	char line[512];
	size_t length;

	*counts = (struct memory_counts){};
	while (*text) {
		length = strcspn(text, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)length, text);
		take_line(counts, c, line);
		text += length + (text[length] == '\n');
	}
}
