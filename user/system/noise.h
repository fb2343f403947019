/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Measures the other work of this machine while a window is open: it affects times and rates. */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * Returns the kernel's counts so far; analysis/derive/noise.py subtracts two such readings. null:
 * unknown on this machine. A pid of 0 is no process.
 */
json_object *noise__read(pid_t sender, pid_t receiver);

/*
 * Waits, while no load runs, until other programs use little of the CPUs, for most_s seconds at
 * most or until stop() returns true. Returns the share of CPU time that they used last; below 0:
 * /proc/stat is not readable.
 */
#define NOISE_QUIET 0.05
double noise__await_quiet(double most_s, bool (*stop)(void *context), void *context);
