// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/system/first_line.h"

#include <stdio.h>
#include <string.h>

bool first_line(const char *path, char *line, size_t size)
{
	FILE *file = fopen(path, "re");
	bool found = file && fgets(line, (int)size, file);

	if (file)
		fclose(file);
	line[found ? strcspn(line, "\n") : 0] = 0;
	return found;
}
