/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Metrics as text: OpenMetrics 1.0, or version 0.0.4 of Prometheus' own format. It remembers what
 * every counter was: the kernel takes some counts back, and a counter must not go backwards.
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
	const char *name; /* of a counter without "_total"; ends with the unit */
	const char *unit; /* "": none; values in "seconds" are given in ns */
	const char *help;
	const char *labels[LABELS_MAX + 1]; /* their names; NULL after the last */
};

/* Values of the labels, in their order: those that are not printable ASCII become \xNN. */
#define LABELS(...) ((const char *const[LABELS_MAX + 1]){__VA_ARGS__})

#define SERIES_MAX 16384 /* a power of two; counters beyond half of it are not remembered */

/* All zero before its first text. */
struct exposition {
	bool open_metrics;
	FILE *out; /* into text */
	char *text;
	size_t size;
	const struct family *family;
	size_t series_count;
	struct series {
		uint64_t key; /* hash of the sample's name and labels; 0: not in use */
		uint64_t value;
	} series[SERIES_MAX];
};

/* A text begins. False when out of memory. */
bool exposition__begin(struct exposition *e, bool open_metrics);
/* It ends: to be freed. NULL when out of memory. */
char *exposition__end(struct exposition *e);

/* A family begins, of which the samples follow. missing, unless NULL, is why there are none. */
void exposition__family(struct exposition *e, const struct family *family, const char *missing);
void exposition__number(struct exposition *e, const char *const *labels, uint64_t value);
/* Times in ns, by buckets that are the same for all. */
void exposition__histogram(struct exposition *e, const char *const *labels, const struct hist *h);

/* What a client prefers, by its header Accept (NULL: it has none). */
bool exposition__wants_open_metrics(const char *accept);
