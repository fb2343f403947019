/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which metrics there are, and of which counts each is made. docs/fleet.md lists them. */
#pragma once

#include "user/exporter/exposition.h"
#include "user/exporter/processes.h"

#include "user/run/run.h"

/* What the exporter itself took. */
struct own_cost {
	uint64_t started_ns; /* of the epoch */
	uint64_t cpu_ns;
	uint64_t resident_bytes;
	uint64_t reading_ns; /* for this reading */
};

/*
 * Of an observation that goes on; processes is NULL where none are named. kernel: its release.
 * cost: the programs' own time is counted.
 */
void metrics__write(struct exposition *e, const struct run_result *r, const char *kernel, bool cost,
		    const struct processes *processes, const struct own_cost *own);
