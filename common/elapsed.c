// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "common/elapsed.h"

double elapsed_since(const struct timespec *then)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - then->tv_sec) + (double)(now.tv_nsec - then->tv_nsec) / 1e9;
}
