/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Statistics of a histogram. The load generator and the analyzer compute the same numbers from the
 * same counts.
 */
#pragma once

#include <linux/types.h>

#include "bpf/hist.h"

struct json_object;

/* Adds a complete histogram to another, as if one writer had counted both. */
void hist__merge(struct hist *to, const struct hist *from);

/*
 * Completes a histogram that hist_put() or kernel programs filled: count is the sum of the buckets,
 * which also bound min and max, because an interrupted addition can leave these behind.
 */
void hist__settle(struct hist *h);

/* Returns the largest value that bucket i can hold; for the last one, at least the maximum seen. */
__u64 hist__high(const struct hist *h, __u32 i);

/*
 * Returns the value that per_mille of 1000 values do not exceed, at most one bucket's width too
 * high. It is the upper end of the bucket with rank ceil(count * per_mille / 1000), but not above
 * the maximum seen. Meaningless while count is 0.
 */
__u64 hist__percentile(const struct hist *h, unsigned int per_mille);

/*
 * Returns {span, count, sum, min, max, p50, p90, p99, p999, buckets: [[low, high, n]]}. Empty
 * buckets are left out; low and high are both inside the bucket; min to p999 are null when count is
 * 0. NULL when out of memory.
 */
struct json_object *hist__json(const struct hist *h, const char *span);
