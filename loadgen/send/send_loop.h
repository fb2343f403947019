/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The loop of all variants, compiled into each: send_one and mode are constants there, so that the
 * loop checks no options and makes no indirect call. At a fixed rate, there is time for checks.
 */
#pragma once

#include "loadgen/send/send_ops.h"
#include "loadgen/send/sender.h"

/* The times when messages are due at a fixed rate. They do not depend on late messages. */
struct pacing {
	uint64_t begin_ns;
	uint64_t rate;	 /* a second */
	uint64_t number; /* the next message's number, from 0 */
	uint64_t due_ns; /* when that message is due */
	uint64_t end_ns; /* when the pacing ended; 0: not yet */
};

/* Returns when a message is due, in ns from the beginning. Pure. */
uint64_t pacing__due(uint64_t number, uint64_t rate);

/* Returns how many messages are due within ns. Pure. */
uint64_t pacing__count(uint64_t ns, uint64_t rate);

void pacing__begin(struct pacing *p, uint64_t begin_ns, uint64_t rate);

/*
 * Waits until the next message is due; returns at once if it is late. Returns false if the deadline
 * (which may change) comes first. Sleeps until 50 microseconds before, because a timer may be late
 * by as much; then spins.
 */
bool pacing__await(struct pacing *p, const _Atomic uint64_t *deadline_ns);

/* Returns how many messages were due until pacing ended; at most those sent if remaining is 0. */
uint64_t pacing__end(const struct pacing *p, uint64_t remaining);

typedef int (*send_one_fn)(struct sender *s, enum send_mode mode);

static always_inline void count_message(struct sender *s, uint64_t ns)
{
	hist_add(&s->sent.latency, ns);
	s->number++;
	s->sent.messages++;
	s->remaining--;
}

/* Sends one message after the other. One clock reading ends a message and starts the next. */
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

/*
 * Sends at a fixed rate. A message's latency counts from the time when it was due, so that a stall
 * counts for all messages that wait for it. The first message is due when the phase starts, so a
 * late wake-up of the thread counts as a stall.
 */
static always_inline int send_loop_paced(struct sender *s, send_one_fn send_one)
{
	struct pacing pace;
	int err = 0;

	pacing__begin(&pace, s->start_ns, s->rate);
	while (!err && s->remaining && pacing__await(&pace, &s->deadline_ns)) {
		err = send_one(s, s->mode);
		if (!err)
			count_message(s, now_ns() - pace.due_ns);
	}
	s->sent.due = pacing__end(&pace, s->remaining);
	return err;
}

#define SEND_LOOP(name, loop)             \
	static int name(struct sender *s) \
	{                                 \
		return loop;              \
	}

/*
 * Defines a variant from the function that sends one message: its loops, and its ops struct, which
 * the further arguments initialize.
 */
#define SEND_VARIANT(variant, send_one, ...)                                  \
	SEND_LOOP(variant##_as_is, send_loop(s, send_one, SEND_AS_IS))        \
	SEND_LOOP(variant##_refill, send_loop(s, send_one, SEND_REFILL))      \
	SEND_LOOP(variant##_picked, send_loop(s, send_one, SEND_PICKED))      \
	SEND_LOOP(variant##_paced, send_loop_paced(s, send_one))              \
	static int (*const variant##_runs[SEND_LOOPS])(struct sender * s) = { \
		[SEND_AS_IS] = variant##_as_is,                               \
		[SEND_REFILL] = variant##_refill,                             \
		[SEND_PICKED] = variant##_picked,                             \
		[SEND_PACED] = variant##_paced,                               \
	};                                                                    \
	const struct send_ops send_##variant = {                              \
		.name = #variant, .runs = variant##_runs, __VA_ARGS__}
