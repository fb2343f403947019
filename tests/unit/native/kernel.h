/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a kernel does with the completions of one socket, as the tracepoints of it are
 * passed: a CPU queues a run's notification, or joins it to the queue's tail; it reports;
 * it frees the notification if that was joined. A reader takes records from the queue, and
 * frees them. Any number of CPUs are somewhere in between.
 */
#pragma once

#include "maps.h"

#define CPUS_MAX  4
#define UBUFS_MAX 64

/* Neighbouring sends that are completed as one. */
struct shared_ubuf {
	__u32 first, sends;
	bool flagged;	      /* the kernel tells of a copy, */
	__u16 cause_counters; /* and a hook saw these: a set of bits */
	bool left;	      /* its data were seen to leave the machine */
};

struct plan_of_sends {
	struct shared_ubuf ubufs[UBUFS_MAX];
	__u32 count;
	__u32 cpus;
	__u32 apart; /* a run may overtake so many others */
	bool has_reader;
	__u32 skipped; /* reports that the kernel leaves out, of 100 */
	__u32 closes;  /* the window, after so many steps; 0: it does not */
	__u32 before;  /* runs that were sent before the window, some of them completed before it */
	__u32 more;    /* runs than any other plan has */
	__u32 into;    /* sends of the next run that were, too */
	bool references; /* are seen to go, and notifications not to be freed */
	bool closed;	 /* the socket is, and no notification queued any more */
	__u32 stalled;	 /* looks of a program into a map at which others go on, of 100 */
};

/* What the application got, of sends in the window; and how many of before it completed in it. */
struct as_read {
	__u64 notifications_read, sends, copied;
	__u64 completed_before;
};

/* The id of the first send in the window. */
__u32 kernel__window(const struct plan_of_sends *plan);

/* Goes through all of it, in an order that the seed decides. */
struct as_read kernel__complete(const struct plan_of_sends *plan, __u64 seed);

/* From xorshift64*: a number below n. */
__u32 kernel__random(__u64 *state, __u32 n);
