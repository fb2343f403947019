/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The machine a run ran on, and what about it makes figures doubtful. */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>

struct host {
	char kernel[128];
	char arch[72];
	char cpu[128];
	int nproc; /* processors this process may use */
	bool virtualized;
	bool debug_kernel;
	char governor[32];   /* "" where there is no frequency control */
	bool pmu;	     /* cycles can be counted */
	char pmu_names[128]; /* of the core PMUs, comma-separated */
};

void host__read(struct host *h);
/* The record's "host" block. */
json_object *host__json(const struct host *h);
