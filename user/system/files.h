/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files: the program's own parts, and those of one line. */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Finds a part by its path in the tree ("loadgen/loadgen"): beside this program,
 * or in ../libexec/sendpath/. 0 and its path; -ENOENT; -EACCES if this user may
 * not read it.
 */
int files__find_part(const char *part, char *path, size_t size);
/* What to say of both, of the part. */
#define PART_MISSING "%s is missing or not readable: install or unpack it beside this program"

/* What runs the parts that are Python and need no library. */
#define SYSTEM_PYTHON "/usr/bin/python3"

/* A file's first line without its end, as of /proc and /sys; "" and false if there is none. */
bool files__first_line(const char *path, char *line, size_t size);
/* The number that it begins with; false, leaving *number alone, if there is none. */
bool files__number(const char *path, long *number);

/*
 * Opens a regular file in a folder (AT_FDCWD: by its path), to close on exec. Neither follows a
 * symbolic link at the end nor waits for the other end of a FIFO. -errno: -EINVAL is another
 * kind of file.
 */
int files__open_regular(int folder, const char *name, int flags);
