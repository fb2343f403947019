/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waits for a phase to end, whatever happens meanwhile. */
#ifndef SENDPATH_PHASE_H
#define SENDPATH_PHASE_H

#include <stdbool.h>
#include <stdint.h>

#include "loadgen/receive/receiver.h"
#include "loadgen/run/control.h"
#include "loadgen/run/crew.h"

#define PHASE_FOREVER UINT64_MAX

struct phase {
	struct crew *crew;
	struct control *control;
	struct receiver *receiver;
	const struct slot *slots;
	unsigned int slot_count;
	bool receiver_dead;
	bool stopped; /* somebody asked for the end */
};

/*
 * Returns once all workers are parked; the phase was begun with this deadline.
 * 0, with *f telling of a receiver that died or stopped reading; or a negative
 * errno if it makes no sense to go on.
 */
int phase__wait(struct phase *p, uint64_t deadline_ns, struct failure *f);

#endif
