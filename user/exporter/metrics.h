/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which metrics there are, and where in a run record each is from. docs/fleet.md lists them. */
#pragma once

#include "user/exporter/exposition.h"
#include "user/exporter/processes.h"

#include <json-c/json.h>

/* What the exporter itself took. */
struct own_cost {
	uint64_t started_ns; /* of the epoch */
	uint64_t cpu_ns;
	uint64_t resident_bytes;
	uint64_t reading_ns; /* for this reading */
};

/* Of an observation's record; processes is NULL where none are named. */
void metrics__write(struct exposition *e, json_object *record, const struct processes *processes,
		    const struct own_cost *own);
