/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The receiving process: a thread for each connection reads and counts. */
#pragma once

#include <pthread.h>

#include "loadgen/send/slot.h"
#include "loadgen/system/child.h"

struct cpus;
struct listener;
struct load;
struct peer;

/* Returns how much memory the receiver on this machine uses for buffers, in bytes. */
double receiver__need(const struct load *load);

/*
 * Forks the receiver; must be called before there are threads. Closes l in the caller. With
 * load->peer, the child is the peer's agent on this machine, and peer__open() has set l and peer.
 */
int receiver__start(struct child *r, struct listener *l, struct slot *slots,
		    const struct load *load, const struct peer *peer, const struct cpus *cpus,
		    struct failure *f);

/* Requests that the receiver accept the connection from this port, for this slot. */
int receiver__adopt(struct child *r, unsigned int slot, unsigned int port, struct failure *f);

/*
 * Sends a request for a connection; any thread may call this. MARK makes the receiver sleep until
 * this many bytes wait (SO_RCVLOWAT), as a bulk receiver does; without it, each arrival wakes the
 * receiver, which costs the sender time. bytes 1 resets the mark. STATE makes a receiver on another
 * machine reply once it has received this many bytes. Returns 0 or -errno.
 */
int receiver__request(struct child *r, enum request_type type, unsigned int slot, uint64_t bytes);

/* State of the receiving process, or of one that serves senders on other machines. */
struct receiver_process {
	int channel; /* socket to the parent */
	int listener;
	struct slot *slots;
	unsigned int slot_count;
	struct pattern_stream stream; /* initial value of each connection's check */
	bool verify;
	bool requests; /* the receiver requests each message (slot.h) */
	bool marks;    /* REQUEST_MARK is allowed */
};

/*
 * Receives on a connected socket in a new thread, which closes the socket. The caller joins or
 * detaches the thread. Returns 0 or -errno.
 */
int receiver_process__start(const struct receiver_process *p, int fd, unsigned int slot,
			    uint32_t connection, pthread_t *thread);

/* Executes ADOPT, MARK and CPU_TIME, from a local or remote sender. */
void receiver_process__answer(struct request *q, void *process);
