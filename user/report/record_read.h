/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reading run records: paths are JSON pointers, e.g. "/app/throughput_bps". A record may come from
 * a file that anybody wrote: no value has to be there or of its type.
 */
#pragma once

#define RECORD_SCHEMA "sendpath.run/2"

#include "bpf/hist.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Can a sweep have written it? Else false, with what is wrong in why. */
bool record__is_sound(json_object *record, char *why, size_t size);

/* NULL if it is absent or null. Borrowed. */
json_object *record__at(json_object *record, const char *path);
/* False, leaving *value alone, if it is no finite number. */
bool record__number(json_object *record, const char *path, double *value);
/* 0 if it is no finite number. */
double record__value(json_object *record, const char *path);
/* Without what stands behind the point; 0 below 0, or if it is no finite number. */
uint64_t record__count(json_object *record, const char *path);
/* False if it is no boolean. */
bool record__flag(json_object *record, const char *path);
/* Element i of the array at a path; NULL past its end, or without an array. Borrowed. */
json_object *record__row(json_object *record, const char *path, size_t i);
/* Of the array at a path; 0 without one. */
size_t record__length(json_object *record, const char *path);
/* The first member of the object at a path; NULL without one, or without any. */
const struct lh_entry *record__members(json_object *record, const char *path);
/* As safe_text has it, to be printed; "" if it is no string. Borrowed. */
const char *record__string(json_object *record, const char *path);
/* As it is, to be compared with what is no record; "" if it is no string. Borrowed. */
const char *record__name(json_object *record, const char *path);
/*
 * Keeps a histogram's buckets beside it, in place of the member of which they are taken: the
 * hundredth part of its memory. 0 or -errno.
 */
int record__keep_buckets(json_object *hist, json_object *buckets);
/* Adds a histogram, as a record writes it or with buckets that are kept, to *h. */
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
