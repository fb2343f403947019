/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Metrics as text: OpenMetrics 1.0, or version 0.0.4 of Prometheus' own format. It remembers what
 * every counter was: the kernel takes some counts back, and a counter must not go backwards.
 */
#pragma once

#include "bpf/hist.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct exposition;

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

/* The value may have any bytes: those that are not printable ASCII, and backslashes, become \xNN.
 */
struct label {
	const char *name, *value;
};
/* An array for the functions below, which ends with a label that has no name. */
#define LABELS(...) ((const struct label[]){__VA_ARGS__ __VA_OPT__(, ){}})

/* NULL when out of memory. */
struct exposition *exposition__new(void);
void exposition__free(struct exposition *e);

/* A text begins. */
void exposition__begin(struct exposition *e, FILE *out, bool open_metrics);
void exposition__end(struct exposition *e);

/*
 * A family begins, of which the samples follow. A counter's name is without "_total", a name with a
 * unit ends with it; unit is "" where there is none. missing, unless NULL, is why there are none.
 */
void exposition__family(struct exposition *e, enum metric_kind kind, const char *name,
			const char *unit, const char *help, const char *missing);
void exposition__count(struct exposition *e, const struct label *labels, uint64_t value);
/* Of a time in ns. */
void exposition__seconds(struct exposition *e, const struct label *labels, uint64_t ns);
/* Times in ns, by buckets that are the same for all; labels at most EXPOSITION_LABELS. */
#define EXPOSITION_LABELS 4
void exposition__histogram(struct exposition *e, const struct label *labels, const struct hist *h);

/* What a client prefers, by its header Accept (NULL: it has none). */
bool exposition__wants_open_metrics(const char *accept);
