/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records in groups, the repeats of one load each, and what is read from a group. */
#pragma once

#include "bpf/hist.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

struct cell {
	json_object **records;
	size_t count;
	const struct cells *all;
	char title[64]; /* "zerocopy", or "zerocopy 16K x4" where sizes or threads differ */
};

struct cells {
	struct cell *cells;
	size_t count;
};

/* Adds a record to those of its cell, keeping a reference. 0 or -ENOMEM. */
int cells__add(struct cells *cells, json_object *record);
/* Gives each its title, once all records are there and the cells in order. */
void cells__name(struct cells *cells);
void cells__free(struct cells *cells);

/* The most records that a cell has. */
size_t cells__repeats(const struct cells *cells);
/* Do these serve many connections (instead of sending messages)? */
bool cells__serving(const struct cells *cells);
/* Where the workload went: its link, or the receiver's address; "links as listed" of several. */
const char *cells__link(const struct cells *cells);
/* Has a value of the loads several distinct ones? */
bool cells__vary(const struct cells *cells, const char *path);
/* A block of the first record: what all repeats have in common. NULL if absent or null. */
json_object *cell__at(const struct cell *cell, const char *path);
/* Row i of a list over all repeats; NULL past the last. */
json_object *cell__row(const struct cell *cell, const char *path, size_t i);
/* All timed sends of the cell's records. */
void cell__wall(const struct cell *cell, struct hist *h);
/* Merges a histogram of all repeats into *h; what its times cover, or "". */
const char *cell__hist(const struct cell *cell, const char *path, struct hist *h);

/* A number's values over the repeats that have it. */
struct spread {
	double low, middle, high;
	size_t count;
};
struct spread cell__spread(const struct cell *cell, const char *path);
/* A number of a record; false if it is not there. The second is user and system time, in seconds,
 * of both ends for each byte received, whatever the path. */
typedef bool (*record_reader)(json_object *record, const char *path, double *value);
bool record__cpu_per_byte(json_object *record, const char *path, double *seconds);
/*
 * The median ratio of a number to another cell's, each repeat to the same repeat. low and high
 * are its interval, at a confidence level of 95 % (93.75 % of five): 0 below five repeats.
 */
struct spread cell__ratio(const struct cell *cell, const struct cell *to, record_reader read,
			  const char *path);
/* The first cell of the same load, whatever its variant: what others are compared with. */
const struct cell *cell__first_variant(const struct cell *cell);
/* The title, and of several repeats which. */
const char *cell__repeat_title(const struct cell *cell, size_t repeat, char *title, size_t size);
/* Sums a number over the repeats; what stands in for it if any lacks it. */
double cell__sum_or(const struct cell *cell, const char *path, double otherwise);
/* Sums a number over the repeats; false if any lacks it. */
bool cell__sum(const struct cell *cell, const char *path, double *sum);
/* Completions whose flag was not seen, where they are one in a thousand or more; else 0. */
double cell__lost_flags(const struct cell *cell);
/* Runs of the programs that see copies, which the kernel skipped; below 0: it does not tell. */
double cell__skipped_looks(const struct cell *cell);
/* Sums a counter over the repeats; false if any lacks it. */
bool cell__counter(const struct cell *cell, const char *scope, const char *event, const char *pmu,
		   double *sum);
