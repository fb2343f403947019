/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where threads wait between phases. Who conducts them waits on a descriptor until
 * all are parked, and begins the next phase.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

struct parking {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int count; /* threads that use it; set before any parks */
	unsigned int parked;
	unsigned int phase; /* changes to begin one */
	bool leaving;
	int fd; /* readable once all are parked */
};

/* 0 or -errno. */
int parking__init(struct parking *p);
void parking__destroy(struct parking *p);

/* By a thread: returns in the next phase; false when there is none. */
bool parking__park(struct parking *p);

/* Makes fd unreadable again. */
void parking__acknowledge(struct parking *p);

/* All are parked: lets them go into the next phase, or out for good. */
void parking__begin(struct parking *p);
void parking__leave(struct parking *p);
