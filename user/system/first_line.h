/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files that say one thing in one line, as those of /proc and /sys. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A file's first line without its end; "" and false if there is none. */
bool first_line(const char *path, char *line, size_t size);
