/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where threads wait between phases. The coordinator waits on a descriptor until all
 * threads wait here, and begins the next phase.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

struct barrier {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int count; /* threads that use it; set before any waits */
	unsigned int waiting;
	unsigned int phase; /* changes to begin one */
	bool leaving;
	int fd; /* readable once all wait */
};

/* 0 or -errno. */
int barrier__init(struct barrier *b);
void barrier__destroy(struct barrier *b);

/* By a thread: returns in the next phase; false when there is none. */
bool barrier__wait(struct barrier *b);

/* Makes fd unreadable again. */
void barrier__acknowledge(struct barrier *b);

/* All wait: lets them go into the next phase, or out for good. */
void barrier__begin(struct barrier *b);
void barrier__leave(struct barrier *b);
