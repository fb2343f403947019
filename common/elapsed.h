/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

#include <time.h>

/* Seconds since then, by CLOCK_MONOTONIC. */
double elapsed_since(const struct timespec *then);
