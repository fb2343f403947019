/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reading run records: paths are JSON pointers, e.g. "/app/throughput_bps". */
#pragma once

#include "bpf/hist.h"

#include <json-c/json.h>
#include <stdbool.h>

/* NULL if it is absent or null. Borrowed. */
json_object *record__at(json_object *record, const char *path);
/* False, leaving *value alone, if it is absent or null. */
bool record__number(json_object *record, const char *path, double *value);
/* 0 if it is absent or null. */
double record__value(json_object *record, const char *path);
/* Element i of the array at a path; NULL past its end, or without an array. Borrowed. */
json_object *record__row(json_object *record, const char *path, size_t i);
/* "" if it is absent or null. Borrowed. */
const char *record__string(json_object *record, const char *path);
/* Adds a histogram as a record writes it to *h. */
void record__add_hist(struct hist *h, json_object *hist);
/* A counter of one side, scaled; false if it was not counted. pmu NULL: any one. */
bool record__counter(json_object *record, const char *scope, const char *event, const char *pmu,
		     double *value);

/* Sorts values; 0 for none. */
double median(double *values, size_t count);
/*
 * The interval of a median, between ordered values (Hettmansperger and Sheather 1986), as
 * docs/statistics.md has it: false, leaving both alone, below five values.
 */
bool median_interval(const double *sorted, size_t count, double *low, double *high);
