// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/report/record_read.h"

#include "common/program.h"

#include <ctype.h>
#include <errno.h>
#include <json-c/json_pointer.h>
#include <json-c/json_visit.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEDIAN_LEVEL 0.95

/* A value that is not required may be absent or null, as what was not measured is. */
static const struct {
	const char *path;
	json_type type;
	bool required;
} values[] = {
	{"/schema", json_type_string, true},   {"/tool", json_type_object, true},
	{"/host", json_type_object, true},     {"/load", json_type_object, true},
	{"/run", json_type_object, true},      {"/run/cell", json_type_string, true},
	{"/run/repeat", json_type_int, true},  {"/error", json_type_string, false},
	{"/outcome", json_type_string, false}, {"/plan", json_type_object, false},
	{"/app", json_type_object, false},     {"/calls", json_type_array, false},
	{"/lost", json_type_object, false},    {"/memory", json_type_object, false},
	{"/tcp", json_type_object, false},     {"/unmeasured", json_type_array, false},
	{"/serving", json_type_object, false}, {"/zerocopy", json_type_object, false},
};

/* JSON has neither of them, but its reader takes them. */
static int find_nan(json_object *o, int flags, json_object *parent, const char *key, size_t *index,
		    void *found)
{
	(void)flags, (void)parent, (void)key, (void)index;
	if (!json_object_is_type(o, json_type_double) || isfinite(json_object_get_double(o)))
		return JSON_C_VISIT_RETURN_CONTINUE;
	*(bool *)found = true;
	return JSON_C_VISIT_RETURN_STOP;
}

bool record__is_sound(json_object *record, char *why, size_t size)
{
	bool nan = false;
	size_t i;

	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		json_object *o = record__at(record, values[i].path);

		if (o ? json_object_is_type(o, values[i].type) : !values[i].required)
			continue;
		snprintf(why, size, "%s is not of type %s", values[i].path,
			 json_type_to_name(values[i].type));
		return false;
	}
	json_c_visit(record, 0, find_nan, &nan);
	if (nan)
		snprintf(why, size, "a number is not finite");
	return !nan;
}

json_object *record__at(json_object *record, const char *path)
{
	json_object *found = NULL;

	return json_pointer_get(record, path, &found) ? NULL : found;
}

bool record__number(json_object *record, const char *path, double *value)
{
	json_object *o = record__at(record, path);
	double found = json_object_get_double(o);

	if ((!json_object_is_type(o, json_type_int) && !json_object_is_type(o, json_type_double)) ||
	    !isfinite(found))
		return false;
	*value = found;
	return true;
}

double record__value(json_object *record, const char *path)
{
	double value = 0;

	record__number(record, path, &value);
	return value;
}

uint64_t record__count(json_object *record, const char *path)
{
	double value = record__value(record, path);

	return value > 0 ? json_object_get_uint64(record__at(record, path)) : 0;
}

bool record__flag(json_object *record, const char *path)
{
	json_object *o = record__at(record, path);

	return json_object_is_type(o, json_type_boolean) && json_object_get_boolean(o);
}

json_object *record__row(json_object *record, const char *path, size_t i)
{
	json_object *list = record__at(record, path);

	return json_object_is_type(list, json_type_array) ? json_object_array_get_idx(list, i)
							  : NULL;
}

size_t record__length(json_object *record, const char *path)
{
	json_object *list = record__at(record, path);

	return json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
}

const struct lh_entry *record__members(json_object *record, const char *path)
{
	json_object *o = record__at(record, path);

	return json_object_is_type(o, json_type_object) ? json_object_get_object(o)->head : NULL;
}

const char *record__name(json_object *record, const char *path)
{
	json_object *o = record__at(record, path);

	return json_object_is_type(o, json_type_string) ? json_object_get_string(o) : "";
}

/* The value keeps the text, as long as it lives itself. */
const char *record__string(json_object *record, const char *path)
{
	json_object *o = record__at(record, path);
	const char *text = record__name(o, "");
	size_t room = 4 * strlen(text) + 1;
	char *safe;

	if (!*text)
		return text;
	if (json_object_get_userdata(o))
		return json_object_get_userdata(o);
	safe = malloc(room);
	if (!safe)
		return "out of memory";
	safe_text(text, safe, room);
	json_object_set_userdata(o, safe, json_object_free_userdata);
	return safe;
}

/* Ended by a count of 0. */
struct counted {
	uint32_t bucket;
	uint64_t count;
};

int record__keep_buckets(json_object *hist, json_object *buckets)
{
	size_t i, kept = 0, rows = record__length(buckets, "");
	struct counted *all = calloc(rows + 1, sizeof(*all));
	json_object *row;

	if (!all)
		return -ENOMEM;
	for (i = 0; (row = record__row(buckets, "", i)); i++) {
		all[kept].bucket = hist_bucket(record__count(row, "/0"));
		all[kept].count = record__count(row, "/2");
		kept += all[kept].count > 0;
	}
	json_object_set_userdata(hist, all, json_object_free_userdata);
	return 0;
}

void record__add_hist(struct hist *h, json_object *hist)
{
	const struct counted *kept =
		json_object_is_type(hist, json_type_object) ? json_object_get_userdata(hist) : NULL;
	json_object *row;
	__u64 count = record__count(hist, "/count"), min = record__count(hist, "/min");
	__u64 max = record__count(hist, "/max");
	size_t i;

	if (!count)
		return;
	if (!h->count || min < h->min)
		h->min = min;
	if (max > h->max)
		h->max = max;
	h->count += count;
	h->sum += record__count(hist, "/sum");
	for (; kept && kept->count; kept++)
		h->buckets[kept->bucket] += kept->count;
	for (i = 0; (row = record__row(hist, "/buckets", i)); i++)
		h->buckets[hist_bucket(record__count(row, "/0"))] += record__count(row, "/2");
}

bool record__counter(json_object *record, const char *scope, const char *event, const char *pmu,
		     double *value)
{
	json_object *o;
	size_t i;

	for (i = 0; (o = record__row(record, "/counters", i)); i++) {
		if (strcmp(record__string(o, "/scope"), scope) ||
		    strcmp(record__string(o, "/event"), event) ||
		    (pmu && strcmp(record__string(o, "/pmu"), pmu)))
			continue;
		return record__number(o, "/value", value);
	}
	return false;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double median(double *values, size_t count)
{
	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), compare);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* How often the k-th of count values and the k-th from above have the true median between them. */
static double level_reached(size_t k, size_t count)
{
	double term = pow(0.5, (double)count), below = 0;
	size_t i;

	for (i = 0; i < k; i++) {
		below += term;
		term *= (double)(count - i) / (double)(i + 1);
	}
	return 1 - 2 * below;
}

bool median_interval(const double *sorted, size_t count, double *low, double *high)
{
	double share, weight = 0, reached, inner;
	size_t k = 1;

	if (count < 5)
		return false;
	while (level_reached(k + 1, count) >= MEDIAN_LEVEL)
		k++;
	reached = level_reached(k, count);
	if (reached > MEDIAN_LEVEL) {
		inner = 2 * (k + 1) <= count + 1 ? level_reached(k + 1, count) : 0;
		share = (reached - MEDIAN_LEVEL) / (reached - inner);
		weight = (double)(count - k) * share /
			 ((double)k + ((double)count - 2 * (double)k) * share);
	}
	*low = sorted[k - 1] + weight * (sorted[k] - sorted[k - 1]);
	*high = sorted[count - k] + weight * (sorted[count - k - 1] - sorted[count - k]);
	return true;
}
