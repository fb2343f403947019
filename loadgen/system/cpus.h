/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which processors the two ends run on. */
#pragma once

#include <sched.h>
#include <stdbool.h>

struct json_object;

struct cpus {
	bool split; /* the two ends run apart */
	cpu_set_t sender;
	cpu_set_t receiver;
};

/* Splits what we may run on in two halves; with fewer than 2, not at all. Pure. */
void cpus__split(struct cpus *c, const cpu_set_t *allowed);

/* The same of the calling thread's own affinity. */
void cpus__plan(struct cpus *c);

/* [0, 1, 2] */
struct json_object *cpus__json(const cpu_set_t *set);
