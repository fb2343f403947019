/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Beginnings of the names that are searched for. The kernel has two hundred thousand names, most of
 * which this excludes at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define BEGINNING_LENGTH 4
#define BEGINNING_HASHES (1 << 15)

struct beginnings {
	bool of[BEGINNING_HASHES];
};

static inline unsigned int beginnings__hash(const char *name, size_t length)
{
	unsigned int hash = 0;
	size_t i;

	for (i = 0; i < BEGINNING_LENGTH && i < length; i++)
		hash = hash * 31 + (unsigned char)name[i];
	return hash % BEGINNING_HASHES;
}

static inline void beginnings__add(struct beginnings *b, const char *name, size_t length)
{
	b->of[beginnings__hash(name, length)] = true;
}

/* Returns false if no added name begins like this. */
static inline bool beginnings__may_have(const struct beginnings *b, const char *name, size_t length)
{
	return b->of[beginnings__hash(name, length)];
}
