/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where the program's other parts are: in the tree beside it, or installed. */
#pragma once

#include <stddef.h>

/*
 * Finds a part by its path in the tree ("loadgen/loadgen"): beside this program,
 * or in ../libexec/sendpath/. 0 and its path; -ENOENT; -EACCES if this user may
 * not read it.
 */
int place__find(const char *part, char *path, size_t size);
