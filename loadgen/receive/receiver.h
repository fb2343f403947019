/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The receiving process: a thread for each connection reads and counts. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "loadgen/send/slot.h"
#include "loadgen/system/child.h"

struct cpus;
struct listener;
struct load;

/* Bytes that it has for buffers, here. */
double receiver__need(const struct load *load);

/*
 * Forks it; must be called before there are threads. Closes l in the caller. With
 * load->peer what is forked is the peer's agent here, and l is of peer__open().
 */
int receiver__start(struct child *r, struct listener *l, struct slot *slots,
		    const struct load *load, const struct cpus *cpus, struct failure *f);

/* Has it take the connection that comes from this port, for this slot. */
int receiver__adopt(struct child *r, unsigned int slot, unsigned int port, struct failure *f);

/*
 * Has a connection's thread sleep until so many bytes wait (SO_RCVLOWAT), as a
 * receiver in bulk does: else each arrival wakes it, at the sender's expense. 1:
 * any, and at once. Any thread may call it. 0 or -errno.
 */
int receiver__mark(struct child *r, unsigned int slot, int bytes);

/* On another machine: has it tell once a connection brought so many bytes. 0 or -errno. */
int receiver__expect(struct child *r, unsigned int slot, uint64_t bytes);
