/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The run record: one JSON object a run, documented in docs/run-record.md. What
 * could not be measured is null, and "unmeasured" says why.
 */
#pragma once

#include "user/run/host.h"
#include "user/run/run.h"

#define RECORD_SCHEMA "sendpath.run/2"

struct record_context {
	const struct host *host;
	const char *id;		/* of the run */
	unsigned int repeat;	/* counts from 1 */
	json_object *privilege; /* borrowed */
	json_object *machine;	/* borrowed: in the place of the whole block host; or NULL */
	bool ordered;		/* at random, by this seed */
	uint32_t seed;
};

/* The whole record, to be json_object_put; NULL when out of memory. */
json_object *record__build(const struct run_result *r, const struct run_setup *setup,
			   const struct record_context *context);

/*
 * Of a run of a load that came to nothing: "failed" or "skipped", and the reason. To be
 * json_object_put; NULL when out of memory.
 */
json_object *record__failure(const struct timespec *started, const struct run_setup *setup,
			     const struct record_context *context, const char *outcome,
			     const char *error);

/* Makes the id of the process's run of that number. */
void record__run_id(char *id, size_t size, const struct timespec *started, size_t run);

/* Names a cell of the grid: what its repeats have in common. */
void record__cell_name(const struct load *load, char *name, size_t size);
