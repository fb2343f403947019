/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the program's own parts, and reads small files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Finds a part by its path in the source tree ("loadgen/loadgen"): beside this program, or in
 * ../libexec/sendpath/. Returns 0 and its path, -ENOENT, or -EACCES if this user may not read it.
 */
int files__find_part(const char *part, char *path, size_t size);
/* The message for -ENOENT and -EACCES. */
#define PART_MISSING "%s is missing or not readable: install or unpack it beside this program"

/* The Python of the parts that need no library. */
#define SYSTEM_PYTHON "/usr/bin/python3"

/* Reads the first line of a file, without its newline. Returns false, and "", if there is none. */
bool files__first_line(const char *path, char *line, size_t size);
/* Reads the number at a file's beginning. Returns false, and leaves *number, if there is none. */
bool files__number(const char *path, long *number);
