/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a stranger cannot know: random tokens, and a key that both ends have in a file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/program.h"

#define SECRET_BYTES 32

/* Random bytes of the kernel. */
void secret__random(uint8_t secret[SECRET_BYTES]);

/* In a time that does not tell how much of them is equal. */
bool secret__equal(const uint8_t a[SECRET_BYTES], const uint8_t b[SECRET_BYTES]);

#define KEY_MIN 16
#define KEY_MAX 4096
struct key {
	size_t bytes; /* 0: none */
	uint8_t of[KEY_MAX];
};

/* All of the file but a last newline. 0 or a negative errno with words. */
int key__read(struct key *k, const char *path, struct failure *f);

/* Who has the key can say this of a challenge: HMAC-SHA256. */
void key__prove(const struct key *k, const uint8_t challenge[SECRET_BYTES],
		uint8_t proof[SECRET_BYTES]);
