/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One run of many connections: forks the server, connects, warms up, measures. */
#ifndef SENDPATH_SERVING_RUN_H
#define SENDPATH_SERVING_RUN_H

#include "loadgen/run/result.h"

struct control;

/* As run__execute(), of --workload procinfo. */
int serving_run__execute(const struct load *load, struct control *control, struct result *r,
			 struct failure *f);

#endif
