/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which cause a stack tells of: pure, so that the kernel programs and the tests
 * share it. The innermost place of the table wins, and of those the first row.
 */
#ifndef SENDPATH_CLASSIFY_H
#define SENDPATH_CLASSIFY_H

#include "abi.h"

/* How far out a second place may stand. */
#define OUTER_FRAMES 3

/* What a copier was called with. */
struct copy_site {
	/*
	 * Of STACK_FRAMES, innermost first. Volatile, because what the verifier learns
	 * of a value in a register with each comparison multiplies what it has to check.
	 */
	const volatile __u64 *stack;
	__u32 copier; /* enum copier */
	__u32 device; /* a set: 1 << enum device_kind */
};

static inline __attribute__((always_inline)) int
classify__within(__u64 address, const volatile struct address_range *range)
{
	return address - range->from < range->to - range->from;
}

/* Is the code at frame called from outer, within a few frames? */
static inline __attribute__((always_inline)) int
classify__outer(const volatile __u64 *stack, __u32 frame,
		const volatile struct address_range *outer)
{
	__u32 i;

	if (!outer->to)
		return 1;
	for (i = 1; i <= OUTER_FRAMES; i++)
		if (frame + i < STACK_FRAMES && classify__within(stack[frame + i], outer))
			return 1;
	return 0;
}

static inline __attribute__((always_inline)) __u32
classify(const volatile struct place *places, __u32 count, const struct copy_site *site)
{
	const volatile struct place *place;
	__u32 frame, i;

	for (frame = 0; frame < STACK_FRAMES; frame++) {
		for (i = 0; i < PLACES_MAX && i < count; i++) {
			place = &places[i];
			if (classify__within(site->stack[frame], &place->code) &&
			    place->copiers & site->copier && site->device & (1U << place->device) &&
			    classify__outer(site->stack, frame, &place->outer))
				return place->cause;
		}
	}
	return CAUSE_UNCLASSIFIED;
}

#endif
