/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <sys/capability.h>

/* Is it in this set of this process's? */
bool capabilities__has(cap_value_t value, cap_flag_t flag);

/* Gives up all but these, of which it need not have all. 0 or -errno. */
int capabilities__keep(const cap_value_t *values, int count);
