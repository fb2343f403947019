/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

#include "common/program.h"

#include <stdbool.h>
#include <sys/capability.h>

/* Returns whether this process has the capability in this set. */
bool capabilities__has(cap_value_t value, cap_flag_t flag);

/* Drops all capabilities except these. The process may lack some of these. Returns 0 or -errno. */
int capabilities__keep(const cap_value_t *values, int count, struct failure *f);
