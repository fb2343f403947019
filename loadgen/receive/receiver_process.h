/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The receiving process: receiver.c sends it requests, receiver_process.c answers them. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "loadgen/receive/receiver.h"

struct receiver_process {
	int channel; /* to the parent */
	int listener;
	struct slot *slots;
	unsigned int slot_count;
	size_t message_bytes;
	struct picker picker;
	bool verify;
	bool asks;  /* for each message (slot.h) */
	bool marks; /* REQUEST_MARK may come */
};

/*
 * Receives on a connected socket in a thread of its own, to be joined or detached. It closes the
 * socket at its end, unless somebody has taken it out of the slot by then. 0 or -errno.
 */
int receiver_process__start(const struct receiver_process *p, int fd, unsigned int slot,
			    uint32_t connection, pthread_t *thread);

/* Bytes of the buffer of one of so many connections. */
size_t receiver_process__room(size_t message_bytes, unsigned int connections);

/* Sets SO_RCVLOWAT of a connection that stands. 0 or -errno. */
int receiver_process__mark(const struct receiver_process *p, unsigned int slot, int bytes);

/* Serves until the other end of the channel closes. */
void receiver_process__serve(const struct receiver_process *p);
