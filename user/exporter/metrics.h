/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Of which counts each metric of analysis/tables/metrics.py is made. */
#pragma once

#include "user/exporter/exposition.h"
#include "user/exporter/processes.h"

#include "user/run/run.h"

/* What they are made of. */
struct exported {
	const struct run_result *result; /* of an observation that goes on */
	const struct processes *processes;
	const char *kernel;	      /* its release */
	bool cost;		      /* the programs' own time is counted */
	__u64 cpu_ns, resident_bytes; /* the exporter's own */
	__u64 reading_ns;	      /* of these counts */
};

void metrics__write(struct exposition *e, const struct exported *from);
