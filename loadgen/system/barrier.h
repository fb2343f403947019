/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where threads wait between phases. The coordinator waits on a descriptor until all
 * threads wait here, and begins the next phase.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "common/program.h"

struct barrier {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int count; /* threads that use it; set before any waits */
	pthread_t *threads;
	unsigned int waiting;
	unsigned int phase; /* changes to begin one */
	bool leaving;
	int fd;			/* readable once all wait, until they go */
	struct failure failure; /* the first of a thread that came to wait */
};

/*
 * Makes it, and starts count threads, each with an element of an array of this size; stack_bytes 0:
 * as usual. 0, or -errno: then b->count threads were started, which destroy ends.
 */
int barrier__start(struct barrier *b, unsigned int count, void *(*body)(void *), void *elements,
		   size_t size, size_t stack_bytes);

/* Has the threads, which must all wait or come to wait, leave; joins them. */
void barrier__destroy(struct barrier *b);

/* By a thread, with its failure, if any: returns in the next phase; false when there is none. */
bool barrier__wait(struct barrier *b, const struct failure *f);

/* All wait: lets them go into the next phase. */
void barrier__begin(struct barrier *b);
