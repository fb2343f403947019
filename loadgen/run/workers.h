/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A sending thread, its connection, and what it does in a phase. Between phases it waits at
 * a barrier, where it makes no system call and has nothing in flight: the receiver took every
 * byte and every zero-copy completion is in.
 */
#pragma once

#include "loadgen/send/sender.h"
#include "loadgen/send/slot.h"
#include "loadgen/system/barrier.h"
#include "loadgen/system/netstat.h"

struct child;
struct load;
struct send_ops;

struct worker {
	struct sender sender; /* first: keeps its alignment */
	struct slot *slot;
	unsigned int request_read; /* bytes of the next request */
	struct child *receiver;
	unsigned int index; /* of the slot */
	const struct load *load;
	const struct send_ops *ops;
	struct barrier *barrier;
	_Atomic bool delivered; /* all its bytes of the phase are with the receiver */
	uint64_t sent_before;	/* bytes of earlier phases */
	uint64_t received_before;
	uint64_t received;	 /* when the phase ended */
	uint64_t end_ns;	 /* of the phase: the receiver had everything */
	struct tcp_state opened; /* when the window opened */
};

/* The thread: sets its variant up, then waits at the barrier for its phases. */
void *worker__main(void *worker);
