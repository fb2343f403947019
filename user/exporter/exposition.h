/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes metrics as text, in OpenMetrics 1.0 or Prometheus' format 0.0.4. Keeps the last value of
 * every counter: the kernel corrects some counts downwards, but a counter must not fall.
 */
#pragma once

#include "bpf/hist.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define LABELS_MAX 3

struct family {
	enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM } kind;
	const char *name; /* without a counter's "_total"; ends with the unit */
	const char *unit; /* "": none; "seconds": values are given in ns */
	const char *help;
	const char *labels[LABELS_MAX + 1]; /* names; NULL after the last */
};

/* The values of the labels, in the same order. Bytes that are not printable ASCII become \xNN. */
#define LABELS(...) ((const char *const[LABELS_MAX + 1]){__VA_ARGS__})

#define SERIES_MAX 16384 /* a power of two; counters beyond half of it may fall */

/* All zero before the first text. */
struct exposition {
	bool open_metrics;
	FILE *out; /* writes into text */
	char *text;
	size_t size;
	const struct family *family;
	size_t series_count;
	struct series {
		uint64_t key; /* hash of the sample's name and labels; 0: unused */
		uint64_t value;
	} series[SERIES_MAX];
};

/* Begins a text. Returns false when out of memory. */
bool exposition__begin(struct exposition *e, bool open_metrics);
/* Ends the text, which the caller frees. NULL when out of memory. */
char *exposition__end(struct exposition *e);

/* Begins a family, whose samples follow. missing: why it has no samples, or NULL. */
void exposition__family(struct exposition *e, const struct family *family, const char *missing);
void exposition__number(struct exposition *e, const char *const *labels, uint64_t value);
/* Writes a histogram of times in ns; all have the same buckets. */
void exposition__histogram(struct exposition *e, const char *const *labels, const struct hist *h);

/* Returns whether a client prefers OpenMetrics by its header Accept (NULL: it has none). */
bool exposition__wants_open_metrics(const char *accept);
