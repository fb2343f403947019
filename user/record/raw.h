/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes the raw line of a run: the request and the counts, without derived values. analysis/derive
 * builds the run record from it.
 */
#pragma once

#include "user/run/host.h"
#include "user/run/run.h"

#define RAW_SCHEMA "sendpath.raw/3"

/* One request of the front. */
struct run_request {
	size_t cell;
	unsigned int repeat; /* from 1 */
	bool ordered;	     /* in random order, by this seed */
	uint32_t seed;
	double seconds; /* of the window; 0: the duration of the command line */
	bool last;	/* no request follows */
};

struct record_context {
	const struct host *host;
	const struct run_request *request;
	size_t run; /* number of the run in this process */
};

/* Returns the line, which the caller frees; NULL when out of memory. */
char *raw__line(const struct run_result *r, const struct measurement *setup,
		const struct record_context *context);
/* Returns the line of a load's run without a result. outcome: "failed" or "skipped"; error: why. */
char *raw__failure(const struct timespec *started, const struct measurement *setup,
		   const struct record_context *context, const char *outcome, const char *error);

/* Writes the name of a configuration, which its repeats share. */
void raw__cell_name(const struct load *load, char *name, size_t size);

/* Returns the words of the command line, each ended by a zero; NULL: too long. */
json_object *raw__command(void);
