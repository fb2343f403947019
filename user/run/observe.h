/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One observation: programs that are not ours, watched for a while. */
#pragma once

#include "user/run/run.h"

/*
 * Watches setup->target until its time is up, its processes have ended, or
 * setup->tick says so. The result is to be freed in any case. 0, or -errno with
 * result->error.
 */
int observe__run(struct run_result *result, const struct run_setup *setup);
