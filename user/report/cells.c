// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/report/cells.h"

#include "user/report/record_read.h"

#include "common/units.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FEW_FLAGS 0.001

static struct cell *find_cell(struct cells *cells, const char *name)
{
	size_t i;

	for (i = 0; i < cells->count; i++)
		if (!strcmp(record__string(cells->cells[i].records[0], "/run/cell"), name))
			return &cells->cells[i];
	return NULL;
}

static json_object *slim(json_object *part, json_object *kept);

/* The buckets of a histogram are most of a record, as rows of a list. */
static json_object *slim_object(json_object *part, json_object *kept)
{
	json_object *o = json_object_new_object(), *same;

	json_object_object_foreach (part, key, member) {
		json_object_object_get_ex(kept, key, &same);
		if (strcmp(key, "buckets") || record__keep_buckets(o, member))
			json_object_object_add(o, key, slim(member, same));
	}
	return o;
}

static json_object *slim_array(json_object *part, json_object *kept)
{
	size_t i, count = json_object_array_length(part);
	bool both = json_object_is_type(kept, json_type_array);
	json_object *list = json_object_new_array_ext((int)count);

	for (i = 0; i < count; i++)
		json_object_array_add(list, slim(json_object_array_get_idx(part, i),
						 both ? json_object_array_get_idx(kept, i) : NULL));
	return list;
}

/* What a record has in common with one that is kept is kept once: most of it is. */
static json_object *slim(json_object *part, json_object *kept)
{
	if (kept && json_object_equal(part, kept))
		return json_object_get(kept);
	if (json_object_is_type(part, json_type_object))
		return slim_object(part, kept);
	if (json_object_is_type(part, json_type_array))
		return slim_array(part, kept);
	return json_object_get(part);
}

int cells__add(struct cells *cells, json_object *record)
{
	struct cell *cell = find_cell(cells, record__string(record, "/run/cell"));
	json_object *kept = cells->count ? (cell ? cell : cells->cells)->records[0] : NULL;
	void *grown;

	if (!cell) {
		grown = reallocarray(cells->cells, cells->count + 1, sizeof(*cells->cells));
		if (!grown)
			return -ENOMEM;
		cells->cells = grown;
		cell = &cells->cells[cells->count];
		*cell = (struct cell){};
	}
	grown = reallocarray(cell->records, cell->count + 1, sizeof(*cell->records));
	if (!grown)
		return -ENOMEM;
	cell->records = grown;
	cell->records[cell->count++] = slim(record, kept);
	if (cell == &cells->cells[cells->count])
		cells->count++;
	return 0;
}

void cells__free(struct cells *cells)
{
	size_t i, j;

	for (i = 0; i < cells->count; i++) {
		for (j = 0; j < cells->cells[i].count; j++)
			json_object_put(cells->cells[i].records[j]);
		free(cells->cells[i].records);
	}
	free(cells->cells);
	*cells = (struct cells){};
}

size_t cells__repeats(const struct cells *cells)
{
	size_t i, most = 0;

	for (i = 0; i < cells->count; i++)
		if (cells->cells[i].count > most)
			most = cells->cells[i].count;
	return most;
}

bool cells__serving(const struct cells *cells)
{
	return !strcmp(record__string(cells->cells[0].records[0], "/load/workload"), "procinfo");
}

const char *cells__link(const struct cells *cells)
{
	json_object *record = cells->cells[0].records[0];

	if (cells__vary(cells, "/load/link"))
		return "links as listed";
	return record__at(record, "/load/link") ? record__string(record, "/load/link")
						: record__string(record, "/load/address");
}

static bool same(const struct cell *a, const struct cell *b, const char *path)
{
	return json_object_equal(cell__at(a, path), cell__at(b, path));
}

bool cells__vary(const struct cells *cells, const char *path)
{
	size_t i;

	for (i = 1; i < cells->count; i++)
		if (!same(&cells->cells[0], &cells->cells[i], path))
			return true;
	return false;
}

json_object *cell__at(const struct cell *cell, const char *path)
{
	return record__at(cell->records[0], path);
}

json_object *cell__row(const struct cell *cell, const char *path, size_t i)
{
	size_t j, rows;

	for (j = 0; j < cell->count; j++, i -= rows) {
		rows = record__length(cell->records[j], path);
		if (i < rows)
			return record__row(cell->records[j], path, i);
	}
	return NULL;
}

static __attribute__((format(printf, 2, 3))) void append(struct cell *cell, const char *format, ...)
{
	size_t used = strlen(cell->title);
	va_list args;

	va_start(args, format);
	vsnprintf(cell->title + used, sizeof(cell->title) - used, format, args);
	va_end(args);
}

static void name(struct cell *cell, const struct cells *cells)
{
	json_object *record = cell->records[0];

	cell->title[0] = 0;
	if (cells__serving(cells)) {
		append(cell, "%s, %s", record__string(record, "/load/server_model"),
		       units__counted_text(record__value(record, "/load/connections"),
					   "connection"));
	} else {
		append(cell, "%s",
		       cell__at(cell, "/load") ? record__string(record, "/load/variant")
					       : "observed");
		if (cells__vary(cells, "/load/message_bytes"))
			append(cell, " %s",
			       units__size_text(record__count(record, "/load/message_bytes")));
		if (cells__vary(cells, "/load/threads"))
			append(cell, " x%.0f", record__value(record, "/load/threads"));
	}
	if (cells__vary(cells, "/load/link"))
		append(cell, ", %s", record__string(record, "/load/link"));
}

void cells__name(struct cells *cells)
{
	size_t i;

	for (i = 0; i < cells->count; i++) {
		cells->cells[i].all = cells;
		name(&cells->cells[i], cells);
	}
}

const char *cell__repeat_title(const struct cell *cell, size_t repeat, char *title, size_t size)
{
	int used = snprintf(title, size, "%s", cell->title);

	if (cell->count > 1)
		snprintf(title + used, size - (size_t)used, ", repeat %zu", repeat + 1);
	return title;
}

void cell__wall(const struct cell *cell, struct hist *h)
{
	json_object *call;
	size_t i;

	memset(h, 0, sizeof(*h));
	for (i = 0; (call = cell__row(cell, "/calls", i)); i++)
		record__add_hist(h, record__at(call, "/wall_ns"));
}

const char *cell__hist(const struct cell *cell, const char *path, struct hist *h)
{
	size_t i;

	memset(h, 0, sizeof(*h));
	for (i = 0; i < cell->count; i++)
		record__add_hist(h, record__at(cell->records[i], path));
	return record__string(record__at(cell->records[0], path), "/span");
}

struct spread cell__spread(const struct cell *cell, const char *path)
{
	double *values = calloc(cell->count, sizeof(*values));
	struct spread s = {};
	size_t i;

	for (i = 0; values && i < cell->count; i++)
		s.count += record__number(cell->records[i], path, &values[s.count]);
	s.middle = median(values, s.count); /* sorts them */
	if (s.count) {
		s.low = values[0];
		s.high = values[s.count - 1];
	}
	free(values);
	return s;
}

const struct cell *cell__first_variant(const struct cell *cell)
{
	const struct cell *first;

	for (first = cell->all->cells; first < cell; first++)
		if (same(cell, first, "/load/message_bytes") && same(cell, first, "/load/fields") &&
		    same(cell, first, "/load/threads") && same(cell, first, "/load/link"))
			break;
	return first;
}

bool record__cpu_per_byte(json_object *record, const char *path, double *seconds)
{
	double bytes = record__value(record, "/app/received_bytes");

	(void)path;
	*seconds = record__value(record, "/app/user_s") + record__value(record, "/app/system_s") +
		   record__value(record, "/app/receiver/user_s") +
		   record__value(record, "/app/receiver/system_s");
	*seconds /= bytes;
	return bytes > 0 && record__at(record, "/app/receiver");
}

/* The cell's record of a repeat; NULL if there is none. */
static json_object *record_of(const struct cell *cell, double repeat)
{
	size_t i;

	for (i = 0; i < cell->count; i++)
		if (record__value(cell->records[i], "/run/repeat") == repeat)
			return cell->records[i];
	return NULL;
}

struct spread cell__ratio(const struct cell *cell, const struct cell *to, record_reader read,
			  const char *path)
{
	double *logs = calloc(cell->count, sizeof(*logs)), own, other;
	struct spread s = {};
	json_object *pair;
	size_t i;

	for (i = 0; logs && i < cell->count; i++) {
		pair = record_of(to, record__value(cell->records[i], "/run/repeat"));
		if (pair && read(cell->records[i], path, &own) && own > 0 &&
		    read(pair, path, &other) && other > 0)
			logs[s.count++] = log(own / other);
	}
	s.middle = exp(median(logs, s.count)); /* sorts them */
	if (median_interval(logs, s.count, &s.low, &s.high)) {
		s.low = exp(s.low);
		s.high = exp(s.high);
	}
	free(logs);
	return s;
}

double cell__sum_or(const struct cell *cell, const char *path, double otherwise)
{
	double sum;

	return cell__sum(cell, path, &sum) ? sum : otherwise;
}

bool cell__sum(const struct cell *cell, const char *path, double *sum)
{
	double value;
	size_t i;

	*sum = 0;
	for (i = 0; i < cell->count; i++) {
		if (!record__number(cell->records[i], path, &value))
			return false;
		*sum += value;
	}
	return true;
}

double cell__lost_flags(const struct cell *cell)
{
	double lost = cell__sum_or(cell, "/lost/flags", 0);

	return lost >= FEW_FLAGS * cell__sum_or(cell, "/zerocopy/completions", 0) ? lost : 0;
}

double cell__skipped_looks(const struct cell *cell)
{
	double sum = 0, missed;
	json_object *hook;
	size_t i;

	for (i = 0; (hook = cell__row(cell, "/plan/hooks", i)); i++) {
		if (strncmp(record__string(hook, "/name"), "skb ", 4) ||
		    strcmp(record__string(hook, "/status"), "attached"))
			continue;
		if (!record__number(hook, "/missed", &missed))
			return -1;
		sum += missed;
	}
	return sum;
}

bool cell__counter(const struct cell *cell, const char *scope, const char *event, const char *pmu,
		   double *sum)
{
	double value;
	size_t i;

	*sum = 0;
	for (i = 0; i < cell->count; i++) {
		if (!record__counter(cell->records[i], scope, event, pmu, &value))
			return false;
		*sum += value;
	}
	return true;
}
