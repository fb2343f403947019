/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the two halves of the receiver share: receiver.c asks, receiver_process.c is asked. */
#ifndef SENDPATH_RECEIVER_PROCESS_H
#define SENDPATH_RECEIVER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "loadgen/receive/receiver.h"

enum receiver_request_type {
	RECEIVER_ADOPT = 1,
	RECEIVER_CPU_TIME,
	RECEIVER_MARK,
	RECEIVER_EXPECT
};

struct receiver_request {
	uint32_t type;
	uint32_t number; /* the reply has it too: one that came too late is known by it */
	uint32_t slot;
	uint32_t port;
	int32_t mark;	/* bytes */
	uint64_t bytes; /* EXPECT */
};

struct receiver_reply {
	uint32_t number;
	int32_t err; /* 0 or a negative errno */
	struct cpu_time time;
};

struct receiver_process {
	int channel; /* SOCK_SEQPACKET: a request, a reply */
	int listener;
	pid_t parent;
	struct slot *slots;
	unsigned int slot_count;
	size_t message_bytes;
	struct picker picker;
	bool verify;
	bool asks;  /* for each message (requests.h) */
	bool marks; /* RECEIVER_MARK may come */
};

/*
 * Receives on a connected socket in a thread of its own, which closes it at its end. p
 * must outlive it: it is gone once the slot has ended. 0 or -errno.
 */
int receiver_process__take(const struct receiver_process *p, int fd, unsigned int slot,
			   uint32_t connection);

/* Serves until the other end of the channel closes. */
void receiver_process__serve(const struct receiver_process *p);

#endif
