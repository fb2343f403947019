/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What else this machine did while a window was open, which affects all wall times and rates. */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * The kernel's counts so far; analysis/derive/noise.py takes the difference of two. null: not known
 * here. A pid of 0 is no process.
 */
json_object *noise__read(pid_t sender, pid_t receiver);

/*
 * Waits, while no load runs, until other programs use little of the CPUs, at most so long or until
 * stop() returns true. Returns the share that they used in the end; below 0: /proc/stat is not
 * readable.
 */
#define NOISE_QUIET 0.05
double noise__await_quiet(double most_s, bool (*stop)(void *context), void *context);
