/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* When messages are due at a fixed rate, however late those before them were. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct pacing {
	uint64_t begin_ns;
	uint64_t rate;	 /* a second */
	uint64_t number; /* of the message that is awaited, from 0 */
	uint64_t due_ns; /* when it is, or was, due */
	uint64_t end_ns; /* when the pacing ended; 0: not yet */
};

/* When message number is due, in ns from the beginning. Pure. */
uint64_t pacing__due(uint64_t number, uint64_t rate);

/* How many are due in so many ns. Pure. */
uint64_t pacing__count(uint64_t ns, uint64_t rate);

void pacing__begin(struct pacing *p, uint64_t rate);

/*
 * Returns when the next message is due, at once if it is late; false if the deadline
 * (which may change) comes before it, or has come. Sleeps but for the last
 * 50 microseconds, which a timer would miss by as much.
 */
bool pacing__await(struct pacing *p, const _Atomic uint64_t *deadline_ns);

/* How many messages were due until it ended; remaining 0: no more than were sent. */
uint64_t pacing__end(const struct pacing *p, uint64_t remaining);
