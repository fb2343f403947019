/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sendpath.prom in a folder that node_exporter's textfile collector reads. */
#pragma once

#include <stddef.h>

/* Opens the folder, which this user may write to. Its descriptor, or -errno. */
int textfile__open(const char *folder);
/* In one step for who reads it. 0 or -errno. */
int textfile__replace(int folder, const char *text, size_t size);
/* Nobody measures any more: an old file would tell otherwise. */
void textfile__remove(int folder);
