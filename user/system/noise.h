/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What else this machine did while a window was open: it is in all wall times and rates. */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * What the kernel has counted so far, of which analysis/derive/noise.py takes two. null is not
 * known here. A pid of 0 is no process.
 */
json_object *noise__read(pid_t sender, pid_t receiver);

/*
 * Waits, while nothing of ours runs, until others use little of the CPUs, at most so long or
 * until stop() says so. The share that they used in the end; below 0: /proc/stat does not tell.
 */
#define NOISE_QUIET 0.05
double noise__await_quiet(double most_s, bool (*stop)(void *context), void *context);
