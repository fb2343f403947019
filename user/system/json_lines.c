// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/system/json_lines.h"

#include "user/system/log.h"

#include "common/posix.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A full disk must not leave half a line: what was there before stays. */
static int append(int fd, const char *path, const char *text, size_t size, bool durable)
{
	struct stat before;
	bool regular = !fstat(fd, &before) && S_ISREG(before.st_mode);
	int err = posix__write_all(fd, text, size);

	if (!err && durable && fsync(fd))
		err = -errno;
	if (err && regular && ftruncate(fd, before.st_size))
		log_error("%s: half a record stays: %s", path, strerror(errno));
	return err;
}

int json_lines__append(int fd, const char *path, json_object *o, bool durable)
{
	const char *text = json_object_to_json_string_ext(
		o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	char *line;
	int err, size;

	if (!text || (size = asprintf(&line, "%s\n", text)) < 0)
		return -ENOMEM;
	err = append(fd, path, line, (size_t)size, durable);
	free(line);
	return err;
}
