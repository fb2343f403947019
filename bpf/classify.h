/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which cause a stack tells of: pure, so that the kernel programs and the tests
 * share it. The innermost place of the table wins, and of those the first row.
 */
#pragma once

#include "abi.h"

/* How far out a second place may stand: as many callers as classify_frame has. */
#define OUTER_FRAMES 3

/* What a copier was called with: an enum copier, and a set of 1 << enum device_kind. */
#define CLASSIFY_ASKED(copier, devices) ((copier) | (devices) << 8)

/* Code, and whence it was called; 0 where the stack ends. */
struct frame {
	__u64 address;
	__u64 callers[OUTER_FRAMES];
};

static inline __attribute__((always_inline)) int
classify__within(__u64 address, const volatile struct address_range *range)
{
	return address - range->from < range->to - range->from;
}

/* Is it called from outer, within a few frames? */
static inline __attribute__((always_inline)) int
classify__outer(const struct frame *frame, const volatile struct address_range *outer)
{
	int i, found = !outer->to;

	for (i = 0; i < OUTER_FRAMES; i++)
		found |= classify__within(frame->callers[i], outer);
	return found;
}

/* The cause of the first place that this is; CAUSE_UNCLASSIFIED if there is none. */
static inline __attribute__((always_inline)) __u32
classify__frame(const volatile struct place *places, __u32 count, const struct frame *frame,
		__u32 asked)
{
	const volatile struct place *place;
	__u32 i;

	for (i = 0; i < PLACES_MAX && i < count; i++) {
		place = &places[i];
		if (classify__within(frame->address, &place->code) && place->copiers & asked &&
		    asked & 1U << (place->device + 8) && classify__outer(frame, &place->outer))
			return place->cause;
	}
	return CAUSE_UNCLASSIFIED;
}

/*
 * classify__frame over a table: of the kernel programs a function of its own, which the
 * verifier goes through once, and not once a frame.
 */
typedef __u32 (*classify_frame)(__u64 address, __u64 caller, __u64 second, __u64 third,
				__u32 asked);

static inline __attribute__((always_inline)) __u64 classify__at(const __u64 *stack, __u32 frame)
{
	return frame < STACK_FRAMES ? stack[frame] : 0;
}

/* stack: STACK_FRAMES, innermost first. */
static inline __attribute__((always_inline)) __u32 classify(const __u64 *stack, __u32 asked,
							    classify_frame cause_of)
{
	__u32 frame, cause;

	for (frame = 0; frame < STACK_FRAMES; frame++) {
		cause = cause_of(stack[frame], classify__at(stack, frame + 1),
				 classify__at(stack, frame + 2), classify__at(stack, frame + 3),
				 asked);
		if (cause != CAUSE_UNCLASSIFIED)
			return cause;
	}
	return CAUSE_UNCLASSIFIED;
}
