/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The number of seeds that a test tries, from 1: SENDPATH_SEEDS of the environment, or 300. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "common/units.h"

#define SEEDS_MAX 100000000

static unsigned long long seeds = 300;

/* Reads SENDPATH_SEEDS; main calls this once. Ends the program if it is not a number of seeds. */
static inline void seeds__read(void)
{
	const char *text = getenv("SENDPATH_SEEDS");

	if (text && (units__count(text, &seeds) || !seeds || seeds > SEEDS_MAX)) {
		fprintf(stderr, "SENDPATH_SEEDS=%s: not a number of seeds\n", text);
		exit(2);
	}
}
