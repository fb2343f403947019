/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers that look random and can be had again: what a place in a sequence hashes to. */
#pragma once

#include <stdint.h>

/* The step of splitmix64: the golden ratio, odd. */
#define MIX_STEP 0x9e3779b97f4a7c15ULL

/* The finalizer of splitmix64: every input bit reaches every output bit. */
static inline uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}
