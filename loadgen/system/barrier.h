/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Threads wait at a barrier between phases. The coordinator waits on a descriptor until all threads
 * wait, and begins the next phase.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "common/program.h"

struct barrier {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int count; /* threads that use the barrier; set before any waits */
	pthread_t *threads;
	unsigned int waiting;
	unsigned int phase; /* changes when a phase begins */
	bool leaving;
	int fd;			/* readable while all threads wait */
	struct failure failure; /* the first failure of a waiting thread */
};

/*
 * Creates the barrier and starts count threads, each with an element of an array; size is one
 * element's. stack_bytes 0 is the default. On failure, returns -errno, and barrier__destroy() must
 * end the b->count threads that were started.
 */
int barrier__start(struct barrier *b, unsigned int count, void *(*body)(void *), void *elements,
		   size_t size, size_t stack_bytes);

/* Ends and joins the threads, which must all wait at the barrier or arrive there. */
void barrier__destroy(struct barrier *b);

/*
 * Called by a thread, with its failure if any. Returns true in the next phase; false if none
 * follows.
 */
bool barrier__wait(struct barrier *b, const struct failure *f);

/* Releases all threads, which must wait, into the next phase or, if leaving, for good. */
void barrier__release(struct barrier *b, bool leaving);
