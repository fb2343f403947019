/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sending threads. They park at a barrier between phases; parked, they make
 * no system call and have nothing in flight: the receiver took every byte and
 * every zero-copy completion is in.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "loadgen/send/sender.h"
#include "loadgen/send/slot.h"
#include "loadgen/system/barrier.h"

struct crew;
struct child;
struct load;
struct send_ops;

/*
 * One thread for each of the load's threads, on the connected sockets fds, which
 * stay the caller's. They set their variant up and park for the first time.
 */
int crew__create(struct crew **crew, const struct load *load, const struct send_ops *ops,
		 const int *fds, struct slot *slots, struct child *receiver, struct failure *f);

/* Ends and joins the threads, which must be parked. */
void crew__destroy(struct crew *c);

/* Where they park. */
struct barrier *crew__barrier(struct crew *c);

/* Starts a phase: until the deadline (0: over at once), or so many messages each. */
void crew__begin(struct crew *c, uint64_t deadline_ns, uint64_t messages);

/* Ends the phase as if its time were up. */
void crew__stop(struct crew *c);

/* Are all bytes of the phase with the receiver? What remains then ends by itself. */
bool crew__delivered(const struct crew *c);

/* Shuts the connections down, so that whoever waits in or for one fails. */
void crew__abandon(struct crew *c);

/*
 * What all of them counted in the phase, requests from asking to the last byte of the
 * answer, and when the last byte was received.
 */
void crew__sum(const struct crew *c, struct sent *sum, struct hist *requests, uint64_t *received,
	       uint64_t *end_ns);

/* The first failure of any of them so far, if one failed. */
void crew__failure(const struct crew *c, struct failure *f);
