/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the two processes know of a connection, in memory they share: how many
 * bytes the receiver took, and how many the sender waits for.
 *
 * The receiver's half and the sender's lie on cache lines of their own (128 B:
 * pairs of lines are prefetched together); the sender writes only when it waits.
 */
#pragma once

#include <stdatomic.h>

#include "bpf/hist.h"
#include "loadgen/data/pattern.h"

/*
 * Where the receiver asks for each message (--workload request), a request has this many
 * bytes; it asks for the next message when the one before is complete.
 */
#define REQUEST_BYTES 64

struct slot {
	/* the receiver's */
	_Alignas(128) _Atomic uint64_t received; /* since the connection began */
	struct pattern_stream verified;		 /* as of received */
	_Atomic int socket;			 /* its descriptor there; 0: no connection */
	struct hist requests;	 /* from asking to the answer's last byte, as of received; */
	uint64_t requests_since; /* the phase, by its begin_ns */
	/* the sender's */
	_Alignas(128) _Atomic uint64_t wanted; /* wake me when this much came; 0: nobody waits */
	_Atomic uint32_t wakeups;	       /* futex */
	_Atomic bool ended;		       /* nothing more will come */
	int event; /* an eventfd of the receiving process that is written as well; 0: none */
	_Atomic uint64_t begin_ns; /* of the phase; requests count from then on */
};

/* count slots in memory that a forked process shares. NULL when out of memory. */
struct slot *slot__map(unsigned int count);
void slot__unmap(struct slot *slots, unsigned int count);

/* Nothing more will be received: by the receiver, or by whoever saw it die. */
void slot__end(struct slot *s);

/* Sleeps until the receiver took this many bytes. -EPIPE if it never will. */
int slot__await(struct slot *s, uint64_t wanted);

void slot__wake(struct slot *s);

/* The receiver took everything up to this byte. */
static inline void slot__publish(struct slot *s, uint64_t received)
{
	uint64_t wanted;

	/* Ordered against the sender's store of wanted and load of received. */
	atomic_store(&s->received, received);
	wanted = atomic_load(&s->wanted);
	if (wanted && received >= wanted)
		slot__wake(s);
}
