/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Of which counts each metric of analysis/tables/metrics.py is made. */
#pragma once

#include "user/exporter/exposition.h"
#include "user/exporter/processes.h"

#include "user/run/run.h"

/* Metrics without labels: the first are the exporter's own. */
struct single_numbers {
	__u64 cpu_ns, resident_bytes;
	__u64 reading_ns; /* for these counts */
	__u64 started_ns; /* of the epoch; from here on set by metrics__write() */
	__u64 bpf_ns, bpf_runs;
	const struct hist *completion;
};

/* Of an observation that goes on. kernel: its release. cost: the programs' own time is counted. */
void metrics__write(struct exposition *e, const struct run_result *r,
		    const struct processes *processes, const char *kernel, bool cost,
		    struct single_numbers own);
