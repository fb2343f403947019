/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files of one JSON object a line. */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>

/*
 * Appends a line to an open file, in one write; if that fails, what was there before
 * stays. Durable: returns when it is on the disk. 0 or -errno; only that half a line
 * stays is said on stderr.
 */
int json_lines__append(int fd, const char *path, json_object *o, bool durable);
