/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Message contents that say where they belong. Each 64-bit word is a mix of the
 * connection, the message's number and the word's index, so that a byte that was
 * swapped, repeated, stale or flipped differs from the byte that belongs there.
 * Pure: no I/O; the same bytes however the stream is cut.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reproducible pseudo-random numbers: the hash of a position in a sequence. */

/* The step of splitmix64: the golden ratio, odd. */
#define MIX_STEP 0x9e3779b97f4a7c15ULL

/* The finalizer of splitmix64: every input bit reaches every output bit. */
static inline uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

/*
 * Which fields of a data set make a message: a function of the connection, the message's
 * number and the field's, so that the receiver can compute it, wherever a stream is
 * cut. A pick costs a few multiplications, and no memory.
 */
struct picker {
	uint64_t count; /* fields of the data set; 0: there is none */
	uint64_t seed;
	uint32_t fields; /* of a message */
	bool random;	 /* or one after another */
};

/* The data-set field, below count, that is field i of a connection's message. */
static inline __attribute__((always_inline)) uint64_t
picker__field(const struct picker *p, uint32_t connection, uint64_t message, uint32_t i)
{
	uint64_t index = message * p->fields + i, begin = mix(p->seed + mix(connection + 1));

	/* Connections begin at different fields: otherwise one would warm the cache for all. */
	if (!p->random)
		return (begin % p->count + index) % p->count;
	return (uint64_t)((unsigned __int128)mix(begin + index * MIX_STEP) * p->count >> 64);
}

/* Writes the bytes [offset, offset + length) of a message. */
void pattern__fill(uint32_t connection, uint64_t message, size_t offset, void *buffer,
		   size_t length);

/* The same of a field of a data set, which no connection and no message owns. */
void pattern__fill_field(uint64_t index, size_t offset, void *buffer, size_t length);

/* What checking it came to; also on the wire (receive/wire.h), so that all is of one size. */
struct pattern_verdict {
	uint64_t checked; /* bytes */
	uint64_t bad;
	uint64_t message; /* of the first that is bad; meaningless while there is none */
	uint64_t offset;  /* in the message */
	uint64_t expected;
	uint64_t got;
};

/* One connection's stream, checked as it comes. Zero all but the first three. */
struct pattern_stream {
	uint32_t connection;
	size_t message_bytes;
	struct picker picker; /* zero: each message is written anew */
	uint64_t message;     /* where the next byte belongs */
	size_t offset;
	struct pattern_verdict found;
};

void pattern__check(struct pattern_stream *s, const void *buffer, size_t length);
