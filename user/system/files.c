// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/system/files.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int files__find_part(const char *part, char *path, size_t size)
{
	static const char *const folders[] = {".", "../libexec/sendpath"};
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *folder;

	if (length < 0)
		return -errno;
	self[length] = 0;
	folder = dirname(self);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		if (snprintf(path, size, "%s/%s/%s", folder, folders[i], part) >= (int)size)
			return -ENAMETOOLONG;
		if (!access(path, R_OK))
			return 0;
		if (errno == EACCES)
			return -EACCES;
	}
	return -ENOENT;
}

bool files__first_line(const char *path, char *line, size_t size)
{
	FILE *file = fopen(path, "re");
	bool found = file && fgets(line, (int)size, file);

	if (file)
		fclose(file);
	line[found ? strcspn(line, "\n") : 0] = 0;
	return found;
}

bool files__number(const char *path, long *number)
{
	char line[64];

	return files__first_line(path, line, sizeof(line)) && sscanf(line, "%ld", number) == 1;
}
