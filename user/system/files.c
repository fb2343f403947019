// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/system/files.h"

#include "user/system/log.h"

#include "common/program.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int files__find_part(const char *part, char *path, size_t size)
{
	static const char *const folders[] = {".", "../libexec/sendpath"};
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *folder;
	size_t i;

	if (length < 0)
		return -errno;
	self[length] = 0;
	folder = dirname(self);
	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
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

int files__open_regular(int folder, const char *name, int flags)
{
	int fd = openat(folder, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666), err;
	struct stat st;

	if (fd < 0)
		return errno == ENXIO ? -EINVAL : -errno; /* a FIFO that nobody reads, a socket */
	err = fstat(fd, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* A full disk must not leave half a line: what was there before stays. */
static int append(int fd, const char *path, const char *text, size_t size, bool durable)
{
	struct stat before;
	bool regular = !fstat(fd, &before) && S_ISREG(before.st_mode);
	int err = program__write_all(fd, text, size);

	if (!err && durable && fsync(fd))
		err = -errno;
	if (err && regular && ftruncate(fd, before.st_size))
		log_error("%s: half a record stays: %s", path, strerror(errno));
	return err;
}

int files__append_json(int fd, const char *path, json_object *o, bool durable)
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

/* Behind the object a line may have blanks only: two records that ran together are none. */
json_object *files__parse_json(const char *line, size_t size)
{
	json_tokener *tokener = size < INT_MAX ? json_tokener_new() : NULL;
	json_object *o;
	size_t end;

	if (!tokener)
		return NULL;
	o = json_tokener_parse_ex(tokener, line, (int)size);
	for (end = json_tokener_get_parse_end(tokener); end < size; end++)
		if (!isspace((unsigned char)line[end]))
			break;
	json_tokener_free(tokener);
	if (end == size && json_object_is_type(o, json_type_object))
		return o;
	json_object_put(o);
	return NULL;
}
