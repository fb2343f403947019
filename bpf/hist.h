/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The log-linear histogram, one definition for all programs. Each power of two is cut into HIST_SUB
 * equal parts, so a bucket's width is at most 1/16 of its lower bound. Values below HIST_SUB have a
 * bucket each; values from HIST_LIMIT on share the last one.
 */
#pragma once

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define HIST_SUB_BITS 4
#define HIST_SUB      (1 << HIST_SUB_BITS)
#define HIST_MAX_BITS 40 /* 2^40 ns = 18 minutes */
#define HIST_BUCKETS  ((HIST_MAX_BITS - HIST_SUB_BITS + 1) * HIST_SUB)
#define HIST_LIMIT    (1ULL << HIST_MAX_BITS)

struct hist {
	__u64 count;
	__u64 sum;
	__u64 min; /* meaningless while count is 0 */
	__u64 max;
	__u64 buckets[HIST_BUCKETS];
};

/* Position of the highest set bit of a byte; BPF has no such instruction. */
#define HIST_BIT(n) n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n
static const __u8 hist_bits[256] = {
	0,	     0,		  1,	       1,	    2,		 2,	      2,
	2,	     3,		  3,	       3,	    3,		 3,	      3,
	3,	     3,		  HIST_BIT(4), HIST_BIT(5), HIST_BIT(5), HIST_BIT(6), HIST_BIT(6),
	HIST_BIT(6), HIST_BIT(6), HIST_BIT(7), HIST_BIT(7), HIST_BIT(7), HIST_BIT(7), HIST_BIT(7),
	HIST_BIT(7), HIST_BIT(7), HIST_BIT(7)};

/*
 * Returns the position of the highest set bit of v, which is below HIST_LIMIT and not 0. It has no
 * branches, because the BPF verifier would check all that follows once for each path through them.
 */
static inline __attribute__((always_inline)) __u32 hist_log2(__u64 v)
{
	__u32 bit = 0, by, bits;

	for (bits = 32; bits >= 8; bits /= 2) {
		/* The difference is negative if v has more bits. */
		by = (__u32)(((1ULL << bits) - 1 - v) >> 63) * bits;
		v >>= by;
		bit += by;
	}
	return bit + hist_bits[v & 0xff];
}

/* Returns the bucket of v if each power of two has 1 << sub_bits buckets. */
static inline __attribute__((always_inline)) __u32 hist_bucket_of(__u64 v, __u32 sub_bits)
{
	__u32 shift;

	if (v < 1U << sub_bits)
		return (__u32)v;
	if (v >= HIST_LIMIT)
		return ((HIST_MAX_BITS - sub_bits + 1) << sub_bits) - 1;
	shift = hist_log2(v) - sub_bits;
	return (shift << sub_bits) + (__u32)(v >> shift);
}

/* The result is always below HIST_BUCKETS. */
static inline __attribute__((always_inline)) __u32 hist_bucket(__u64 v)
{
	return hist_bucket_of(v, HIST_SUB_BITS);
}

/* Returns the smallest value of bucket i, or HIST_LIMIT if i is the number of buckets. */
static inline __attribute__((always_inline)) __u64 hist_low_of(__u32 i, __u32 sub_bits)
{
	__u32 shift;

	if (i < 2U << sub_bits)
		return i;
	shift = (i >> sub_bits) - 1;
	return ((__u64)(i & ((1U << sub_bits) - 1)) + (1U << sub_bits)) << shift;
}

static inline __attribute__((always_inline)) __u64 hist_low(__u32 i)
{
	return hist_low_of(i, HIST_SUB_BITS);
}

/*
 * Adds a value, not atomically, because every writer has its own histogram. It does not update
 * count, which is the sum of the buckets; min is 0 until a value other than 0 is added.
 * hist__settle() completes count and min.
 */
static inline __attribute__((always_inline)) void hist_put(struct hist *h, __u64 v)
{
	__u32 bucket;

	if (v - 1 < h->min - 1)
		h->min = v;
	if (v > h->max)
		h->max = v;
	h->sum += v;
	bucket = hist_bucket(v);
	if (bucket < HIST_BUCKETS) /* always true, but the verifier does not know it */
		h->buckets[bucket]++;
}

/* Adds a value to a histogram whose count and min are always complete. */
static inline __attribute__((always_inline)) void hist_add(struct hist *h, __u64 v)
{
	__u64 min = h->count && h->min < v ? h->min : v;

	hist_put(h, v);
	h->min = min;
	h->count++;
}

/*
 * A histogram for use where many are needed, with wider buckets: a bucket's width is at most 1/4 of
 * its lower bound. Each bucket is a union of buckets of struct hist. CPUs may share one: min and
 * max can then lag behind the buckets.
 */
#define COARSE_SUB_BITS 2
#define COARSE_BUCKETS	((HIST_MAX_BITS - COARSE_SUB_BITS + 1) << COARSE_SUB_BITS)

struct coarse_hist {
	__u64 count;
	__u64 sum;
	__u64 min; /* meaningless while count is 0 */
	__u64 max;
	__u32 buckets[COARSE_BUCKETS];
};

static inline __attribute__((always_inline)) void coarse_hist_add(struct coarse_hist *h, __u64 v)
{
	/*
	 * The bucket is kept in memory, so that the BPF verifier forgets which of many paths led
	 * here: one program fills many histograms.
	 */
	volatile __u8 found = (__u8)hist_bucket_of(v, COARSE_SUB_BITS);
	__u32 bucket = found;

	if (!h->count || v < h->min)
		h->min = v;
	if (v > h->max)
		h->max = v;
	__sync_fetch_and_add(&h->count, 1);
	__sync_fetch_and_add(&h->sum, v);
	if (bucket < COARSE_BUCKETS) /* always true, but the verifier does not know it */
		__sync_fetch_and_add(&h->buckets[bucket], 1);
}
