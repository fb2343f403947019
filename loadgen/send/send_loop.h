/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The loop of every variant, compiled into each: send_one and mode are constants
 * there, so the loop asks no options and calls nothing indirectly. At a fixed rate
 * there is time to ask.
 */
#pragma once

#include "loadgen/send/pacing.h"
#include "loadgen/send/sender.h"

typedef int (*send_one_fn)(struct sender *s, enum send_mode mode);

static always_inline void count_message(struct sender *s, uint64_t ns)
{
	hist_add(&s->sent.latency, ns);
	s->number++;
	s->sent.messages++;
	s->remaining--;
}

/* One clock read a message: the end of one is the start of the next. */
static always_inline int send_loop(struct sender *s, send_one_fn send_one, enum send_mode mode)
{
	uint64_t start = now_ns();

	while (s->remaining &&
	       start < atomic_load_explicit(&s->deadline_ns, memory_order_relaxed)) {
		int err = send_one(s, mode);
		uint64_t end;

		if (err)
			return err;
		end = now_ns();
		count_message(s, end - start);
		start = end;
	}
	return 0;
}

/* Latency counts from when a message was due, so that a stall delays all that wait in it. */
static always_inline int send_loop_paced(struct sender *s, send_one_fn send_one)
{
	struct pacing pace;
	int err = 0;

	pacing__begin(&pace, s->rate);
	while (!err && s->remaining && pacing__await(&pace, &s->deadline_ns)) {
		err = send_one(s, s->mode);
		if (!err)
			count_message(s, now_ns() - pace.due_ns);
	}
	s->sent.due = pacing__end(&pace, s->remaining);
	return err;
}

/* The loops of a variant, for its ops table: SEND_RUNS(variant, send_one); ... .runs =
 * variant_runs. */
#define SEND_RUNS(variant, send_one)                                          \
	static int variant##_as_is(struct sender *s)                          \
	{                                                                     \
		return send_loop(s, send_one, SEND_AS_IS);                    \
	}                                                                     \
	static int variant##_refill(struct sender *s)                         \
	{                                                                     \
		return send_loop(s, send_one, SEND_REFILL);                   \
	}                                                                     \
	static int variant##_picked(struct sender *s)                         \
	{                                                                     \
		return send_loop(s, send_one, SEND_PICKED);                   \
	}                                                                     \
	static int variant##_paced(struct sender *s)                          \
	{                                                                     \
		return send_loop_paced(s, send_one);                          \
	}                                                                     \
	static int (*const variant##_runs[SEND_LOOPS])(struct sender * s) = { \
		[SEND_AS_IS] = variant##_as_is,                               \
		[SEND_REFILL] = variant##_refill,                             \
		[SEND_PICKED] = variant##_picked,                             \
		[SEND_PACED] = variant##_paced,                               \
	}
