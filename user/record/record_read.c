// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/record/record_read.h"

#include <json-c/json_pointer.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MEDIAN_LEVEL 0.95

json_object *record__at(json_object *record, const char *path)
{
	json_object *found = NULL;

	return json_pointer_get(record, path, &found) ? NULL : found;
}

bool record__number(json_object *record, const char *path, double *value)
{
	json_object *o = record__at(record, path);

	if (o)
		*value = json_object_get_double(o);
	return o;
}

double record__value(json_object *record, const char *path)
{
	return json_object_get_double(record__at(record, path));
}

json_object *record__row(json_object *record, const char *path, size_t i)
{
	json_object *list = record__at(record, path);

	return list ? json_object_array_get_idx(list, i) : NULL;
}

const char *record__string(json_object *record, const char *path)
{
	json_object *o = record__at(record, path);

	return o ? json_object_get_string(o) : "";
}

void record__add_hist(struct hist *h, json_object *hist)
{
	json_object *row;
	double count = record__value(hist, "/count"), min = record__value(hist, "/min");
	double max = record__value(hist, "/max");
	size_t i;

	if (count < 1)
		return;
	if (!h->count || min < (double)h->min)
		h->min = (__u64)min;
	if (max > (double)h->max)
		h->max = (__u64)max;
	h->count += (__u64)count;
	h->sum += (__u64)record__value(hist, "/sum");
	for (i = 0; (row = record__row(hist, "/buckets", i)); i++)
		h->buckets[hist_bucket(
			json_object_get_uint64(json_object_array_get_idx(row, 0)))] +=
			json_object_get_uint64(json_object_array_get_idx(row, 2));
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
