// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kernel/stages.h"

#include <string.h>

const struct stage_row stage_rows[STAGES] = {STAGE_ROWS};

const char *stage__words(const char *name)
{
	size_t i;

	for (i = 0; i < STAGES; i++)
		if (!strcmp(stage_rows[i].name, name))
			return stage_rows[i].words;
	return name;
}
