/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One sending thread's part of a run: its connection, and what it does in a phase. The
 * crew (crew.h) has the threads and says when a phase begins.
 */
#pragma once

#include <pthread.h>

#include "loadgen/receive/receiver.h"
#include "loadgen/send/sender.h"
#include "loadgen/send/slot.h"

struct crew;
struct load;
struct send_ops;

struct worker {
	struct sender sender; /* first: keeps its alignment */
	struct slot *slot;
	unsigned int
		request_read; /* bytes of the next request; complete: it waits for its answer */
	struct child *receiver;
	unsigned int index; /* of the slot */
	const struct load *load;
	const struct send_ops *ops;
	struct crew *crew;
	_Atomic unsigned int *delivered; /* workers whose bytes all arrived, in this phase */
	pthread_t thread;
	uint64_t sent_before; /* bytes of earlier phases */
	uint64_t received_before;
	uint64_t end_ns; /* of the phase: the receiver had everything */
};

/* The sender of a worker that has all else but its thread. */
void worker__init(struct worker *w, int fd, const struct dataset *dataset);

/* In its thread. 0, or a negative errno with the words in the sender's failure. */
int worker__setup(struct worker *w);
void worker__teardown(struct worker *w);

/* Returns when the receiver has everything that was sent and no send is in flight. */
void worker__phase(struct worker *w);
