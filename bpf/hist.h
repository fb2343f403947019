/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The log-linear histogram: one definition for the kernel programs, the load
 * generator, the analyzer and the tests, so that a bucket means the same
 * everywhere.
 *
 * Each power of two is cut into HIST_SUB equal parts, so a bucket's width is at
 * most 1/16 of its lower bound. Values below HIST_SUB have a bucket each; values
 * from HIST_LIMIT on share the last one.
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

/* Opaque to clang, which for BPF would else test the condition of a shift twice. */
static inline __attribute__((always_inline)) __u64 hist_shift(__u64 v, __u32 by)
{
	v >>= by;
	__asm__ volatile("" : "+r"(v));
	return v;
}

/* Position of the highest set bit; v must not be 0. BPF has no such instruction. */
static inline __attribute__((always_inline)) __u32 hist_log2(__u64 v)
{
	__u32 bit = 0;

	if (v >> 32) {
		v = hist_shift(v, 32);
		bit += 32;
	}
	if (v >> 16) {
		v = hist_shift(v, 16);
		bit += 16;
	}
	if (v >> 8) {
		v = hist_shift(v, 8);
		bit += 8;
	}
	if (v >> 4) {
		v = hist_shift(v, 4);
		bit += 4;
	}
	if (v >> 2) {
		v = hist_shift(v, 2);
		bit += 2;
	}
	return bit + (__u32)(v >> 1);
}

/* The bucket that holds v: always below HIST_BUCKETS. */
static inline __attribute__((always_inline)) __u32 hist_bucket(__u64 v)
{
	__u32 shift;

	if (v < HIST_SUB)
		return (__u32)v;
	if (v >= HIST_LIMIT)
		return HIST_BUCKETS - 1;
	shift = hist_log2(v) - HIST_SUB_BITS;
	return (shift << HIST_SUB_BITS) + (__u32)(v >> shift);
}

/* The smallest value that bucket i holds; for i == HIST_BUCKETS, HIST_LIMIT. */
static inline __attribute__((always_inline)) __u64 hist_low(__u32 i)
{
	__u32 shift;

	if (i < 2 * HIST_SUB)
		return i;
	shift = (i >> HIST_SUB_BITS) - 1;
	return ((__u64)(i & (HIST_SUB - 1)) + HIST_SUB) << shift;
}

/* Not atomic: every writer has a histogram of its own. */
static inline __attribute__((always_inline)) void hist_add(struct hist *h, __u64 v)
{
	__u32 bucket = hist_bucket(v);

	if (!h->count || v < h->min)
		h->min = v;
	if (v > h->max)
		h->max = v;
	h->count++;
	h->sum += v;
	if (bucket < HIST_BUCKETS) /* always; said for the BPF verifier */
		h->buckets[bucket]++;
}
