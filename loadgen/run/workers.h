/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sending threads. Between phases they wait at a barrier, where they make no
 * system call and have nothing in flight: the receiver took every byte and every
 * zero-copy completion is in.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "loadgen/send/sender.h"
#include "loadgen/send/slot.h"
#include "loadgen/system/barrier.h"

struct workers;
struct child;
struct load;
struct send_ops;

/*
 * One thread for each of the load's threads, on the connected sockets fds, which
 * stay the caller's. They set their variant up and wait at the barrier.
 */
int workers__create(struct workers **workers, const struct load *load, const struct send_ops *ops,
		    const int *fds, struct slot *slots, struct child *receiver, struct failure *f);

/* Ends and joins the threads, which must wait at the barrier. */
void workers__destroy(struct workers *all);

struct barrier *workers__barrier(struct workers *all);

/* Starts a phase: until the deadline (0: over at once), or so many messages each. */
void workers__begin(struct workers *all, uint64_t deadline_ns, uint64_t messages);

/* Ends the phase as if its time were up. */
void workers__stop(struct workers *all);

/* Are all bytes of the phase with the receiver? What remains then ends by itself. */
bool workers__delivered(const struct workers *all);

/* Shuts the connections down, so that whoever waits in or for one fails. */
void workers__abandon(struct workers *all);

/*
 * What all of them counted in the phase, requests from asking to the last byte of the
 * answer, and when the last byte was received.
 */
void workers__sum(const struct workers *all, struct sent *sum, struct hist *requests,
		  uint64_t *received, uint64_t *end_ns);

/* The first failure of any of them so far, if one failed. */
void workers__failure(const struct workers *all, struct failure *f);
