/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which fields of a data set make a message: told by the connection, the message's
 * number and the field's, so that the receiver knows it too, wherever a stream is
 * cut. A pick costs a few multiplications, and no memory.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/mix.h"

struct picker {
	uint64_t count; /* fields of the data set; 0: there is none */
	uint64_t seed;
	uint32_t fields; /* of a message */
	bool random;	 /* or one after another */
};

/* The data-set field, below count, that is field i of a connection's message. */
static inline uint64_t picker__field(const struct picker *p, uint32_t connection, uint64_t message,
				     uint32_t i)
{
	uint64_t index = message * p->fields + i, begin = mix(p->seed + mix(connection + 1));

	/* Connections begin apart, or one would warm the cache for all. */
	if (!p->random)
		return (begin % p->count + index) % p->count;
	return (uint64_t)((unsigned __int128)mix(begin + index * MIX_STEP) * p->count >> 64);
}
