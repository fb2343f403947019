/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The loop of every variant, compiled into each: send_one and verify are
 * constants there, so the loop asks no options and calls nothing indirectly.
 */
#ifndef SENDPATH_SEND_LOOP_H
#define SENDPATH_SEND_LOOP_H

#include "loadgen/sender.h"

#define always_inline inline __attribute__((always_inline))

typedef int (*send_one_fn)(struct sender *s, bool verify);

/* One clock read a message: the end of one is the start of the next. */
static always_inline int send_loop(struct sender *s, send_one_fn send_one, bool verify)
{
	uint64_t start = now_ns();

	while (s->remaining &&
	       start < atomic_load_explicit(&s->deadline_ns, memory_order_relaxed)) {
		int err = send_one(s, verify);
		uint64_t end;

		if (err)
			return err;
		end = now_ns();
		hist_add(&s->sent.latency, end - start);
		start = end;
		s->number++;
		s->sent.messages++;
		s->remaining--;
	}
	return 0;
}

#endif
