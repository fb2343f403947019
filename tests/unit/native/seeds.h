/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How many seeds a test tries: 1 up to SENDPATH_SEEDS of the environment, 300 without it. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "common/units.h"

#define SEEDS_MAX 100000000

static unsigned long long seeds = 300;

/* Called once, by main. Ends the program if the variable is not a number of seeds. */
static inline void seeds__read(void)
{
	const char *text = getenv("SENDPATH_SEEDS");

	if (text && (units__count(text, &seeds) || !seeds || seeds > SEEDS_MAX)) {
		fprintf(stderr, "SENDPATH_SEEDS=%s: not a number of seeds\n", text);
		exit(2);
	}
}
