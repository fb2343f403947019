/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What both ends of a session must have: the bytes of a file that nobody else may read. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/program.h"

#define KEY_MIN 16
#define KEY_MAX 4096

struct key {
	size_t bytes; /* 0: none */
	uint8_t of[KEY_MAX];
};

/* All of the file but a last newline. 0 or a negative errno with words. */
int key__read(struct key *k, const char *path, struct failure *f);
