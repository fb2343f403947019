/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the cause that a stack shows. It has no side effects, so kernel programs and tests share
 * it. The innermost frame that the table has decides; if several rows match, the first of them.
 */
#pragma once

#include "abi.h"

/* How many callers of a frame are compared with outer: the caller arguments of classify_frame. */
#define OUTER_FRAMES 3

/* An enum copier, and the kinds of its device as a set of 1 << enum device_kind. */
#define CLASSIFY_ASKED(copier, devices) ((copier) | (devices) << 8)

/* An address on the stack and its callers; 0 where the stack ends. */
struct frame {
	__u64 address;
	__u64 callers[OUTER_FRAMES];
};

static inline __attribute__((always_inline)) int
classify__within(__u64 address, const volatile struct address_range *range)
{
	return address - range->from < range->to - range->from;
}

/* Returns whether one of the callers is in outer. An empty outer always matches. */
static inline __attribute__((always_inline)) int
classify__outer(const struct frame *frame, const volatile struct address_range *outer)
{
	int i, found = !outer->to;

	for (i = 0; i < OUTER_FRAMES; i++)
		found |= classify__within(frame->callers[i], outer);
	return found;
}

/* Returns the cause of the first row that matches; CAUSE_UNCLASSIFIED if none does. */
static inline __attribute__((always_inline)) __u32
classify__frame(const volatile struct call_site *call_sites, __u32 count, const struct frame *frame,
		__u32 asked)
{
	const volatile struct call_site *site;
	__u32 i;

	for (i = 0; i < CALL_SITES_MAX && i < count; i++) {
		site = &call_sites[i];
		if (classify__within(frame->address, &site->code) && site->copiers & asked &&
		    asked & 1U << (site->device + 8) && classify__outer(frame, &site->outer))
			return site->cause;
	}
	return CAUSE_UNCLASSIFIED;
}

/*
 * Calls classify__frame() with the table. In kernel programs this is a global function, which the
 * verifier checks once, not for every frame.
 */
typedef __u32 (*classify_frame)(__u64 address, __u64 caller, __u64 second, __u64 third,
				__u32 asked);

static inline __attribute__((always_inline)) __u64 classify__at(const __u64 *stack, __u32 frame)
{
	return frame < STACK_FRAMES ? stack[frame] : 0;
}

/* Returns the cause that a stack shows. stack: STACK_FRAMES addresses, innermost first. */
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
