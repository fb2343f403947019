/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The state of a connection in memory that both processes share: how many bytes the receiver has
 * read, and how many the sender waits for. Each process writes to its own cache lines (128 bytes,
 * because pairs of lines are prefetched together). The sender writes only when it waits.
 */
#pragma once

#include <stdatomic.h>

#include "bpf/hist.h"
#include "loadgen/data/pattern.h"

/*
 * With --workload request, the receiver requests each message with this many bytes once the
 * previous message is complete.
 */
#define REQUEST_BYTES 64

struct slot {
	/* written by the receiver */
	_Alignas(128) _Atomic uint64_t received; /* since the connection began */
	struct pattern_stream verified;		 /* check of the first `received` bytes */
	_Atomic int socket;			 /* the receiver's descriptor; 0: no connection */
	struct hist requests;	 /* times from a request to its answer's last byte */
	uint64_t requests_since; /* start of the phase of these times */
	/* written by the sender */
	_Alignas(128) _Atomic uint64_t wanted; /* wake the sender at this count; or 0 */
	_Atomic uint32_t wakeups;	       /* futex */
	_Atomic bool ended;		       /* nothing more will be received */
	int event;		   /* an eventfd of the receiver that is written as well; 0: none */
	_Atomic uint64_t begin_ns; /* start of the phase; earlier requests do not count */
};

/* Maps count slots in memory that a forked process shares. NULL when out of memory. */
struct slot *slot__map(unsigned int count);
void slot__unmap(struct slot *slots, unsigned int count);

/* Marks that nothing more will be received. The receiver calls it, or whoever saw it end. */
void slot__end(struct slot *s);

/* Sleeps until the receiver has read this many bytes. Returns -EPIPE if it never will. */
int slot__await(struct slot *s, uint64_t wanted);

void slot__wake(struct slot *s);

/* Reports that the receiver has read everything up to this byte. */
static inline void slot__publish(struct slot *s, uint64_t received)
{
	uint64_t wanted;

	/*
	 * Ordered before the load of wanted, as the sender orders its store of wanted before its
	 * load of received.
	 */
	atomic_store(&s->received, received);
	wanted = atomic_load(&s->wanted);
	if (wanted && received >= wanted)
		slot__wake(s);
}
