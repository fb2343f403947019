/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One run of a load, the programs that watch it, and the counters. */
#pragma once

#include "user/run/run.h"

/* Runs it. The result is to be freed in any case. 0, or -errno with result->error. */
int measure__run(struct run_result *result, const struct run_setup *setup);
