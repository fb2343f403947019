/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The receiving process: a thread for each connection reads and counts. It is
 * forked, so that its time is its own, and neither outlives the other: it is
 * killed with its parent, and ends at the end of file of their socket pair.
 */
#ifndef SENDPATH_RECEIVER_H
#define SENDPATH_RECEIVER_H

#include <stdint.h>
#include <sys/types.h>

#include "loadgen/send/slot.h"
#include "loadgen/system/cpu_time.h"
#include "loadgen/system/failure.h"

struct receiver;
struct cpus;
struct listener;
struct load;

/*
 * Forks it; must be called before there are threads. Closes l in the caller. With
 * load->peer what is forked is the peer's agent here, and l is of peer__open().
 */
int receiver__start(struct receiver **r, struct listener *l, struct slot *slots,
		    const struct load *load, const struct cpus *cpus, struct failure *f);

/* Ends it and waits until it is gone. */
void receiver__stop(struct receiver *r);

pid_t receiver__pid(const struct receiver *r);

/* Hung up when the process is gone. */
int receiver__fd(const struct receiver *r);

/* Has it take the connection that comes from this port, for this slot. */
int receiver__adopt(struct receiver *r, unsigned int slot, unsigned int port, struct failure *f);

/*
 * Has a connection's thread sleep until so many bytes wait (SO_RCVLOWAT), as a
 * receiver in bulk does: else each arrival wakes it, at the sender's expense. 1:
 * any, and at once. Any thread may call it. 0 or -errno.
 */
int receiver__mark(struct receiver *r, unsigned int slot, int bytes);

/* On another machine: has it tell once a connection brought so many bytes. 0 or -errno. */
int receiver__expect(struct receiver *r, unsigned int slot, uint64_t bytes);

/* Its processor time so far. -errno if it does not answer. */
int receiver__cpu_time(struct receiver *r, struct cpu_time *t);

/* It is gone before its time: says how. */
void receiver__died(struct receiver *r, struct failure *f);

#endif
