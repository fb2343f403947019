/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The parts of the text report. Each prints one section from the cells: groups of
 * records that are repeats of the same load. Private to report_text.c and text_*.c.
 */
#ifndef SENDPATH_TEXT_H
#define SENDPATH_TEXT_H

#include "bpf/hist.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>

struct cell {
	json_object **records;
	size_t count;
};

struct cells {
	struct cell *cells;
	size_t count;
};

/* The distinct values of a number over all records: are there several? */
bool cells__vary(const struct cells *cells, const char *path);
/* "zerocopy", or "zerocopy 16K x 4" where sizes or threads differ. */
void cell__title(const struct cell *cell, const struct cells *cells, char *title, size_t size);
/* All timed sends of the cell's records; NULL span if there are none. */
const char *cell__wall(const struct cell *cell, struct hist *h);
/* Sums a number over the repeats; false if any lacks it. */
bool cell__sum(const struct cell *cell, const char *path, double *sum);
/* Sums a counter over the repeats; false if any lacks it. */
bool cell__counter(const struct cell *cell, const char *scope, const char *event, const char *pmu,
		   double *sum);

void text__comparison(const struct cells *cells, FILE *out);
void text__zerocopy(const struct cells *cells, FILE *out);
void text__histograms(const struct cells *cells, FILE *out);
void text__counters(const struct cells *cells, FILE *out);
/* Losses stand above the figures; warnings and what was not measured below. */
void text__losses(const struct cells *cells, FILE *out);
void text__notes(const struct cells *cells, FILE *out);

#endif
