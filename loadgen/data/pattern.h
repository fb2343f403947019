/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Message contents that identify their position. Each 64-bit word is a mix of the connection, the
 * message's number and the word's index, so that a swapped, repeated, stale or flipped byte differs
 * from the right one. Pure: no I/O, and the same bytes however the stream is divided into buffers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reproducible pseudo-random numbers: each is the hash of a position in a sequence. */

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
 * Chooses which fields of a data set make a message, by the connection, the message's number and
 * the field's index, so that the receiver can compute it for any position in a stream. A draw costs
 * a few multiplications and no memory.
 */
struct picker {
	uint64_t count; /* fields of the data set; 0: there is none */
	uint64_t seed;
	uint32_t fields; /* fields of a message */
	bool random;	 /* false: in the data set's order */
};

/* Returns the index in the data set, below count, of field i of a connection's message. */
static inline __attribute__((always_inline)) uint64_t
picker__field(const struct picker *p, uint32_t connection, uint64_t message, uint32_t i)
{
	uint64_t index = message * p->fields + i, begin = mix(p->seed + mix(connection + 1));

	/*
	 * Starts each connection at another field: otherwise one connection would warm the cache
	 * for all others.
	 */
	if (!p->random)
		return (begin % p->count + index) % p->count;
	return (uint64_t)((unsigned __int128)mix(begin + index * MIX_STEP) * p->count >> 64);
}

/* Writes the bytes [offset, offset + length) of a message. */
void pattern__fill(uint32_t connection, uint64_t message, size_t offset, void *buffer,
		   size_t length);

/* Writes bytes of a field of a data set, which belongs to no connection and no message. */
void pattern__fill_field(uint64_t index, size_t offset, void *buffer, size_t length);

/* The result of checking; also sent on the wire (receive/wire.h), so all members have one size. */
struct pattern_verdict {
	uint64_t checked; /* bytes */
	uint64_t bad;
	uint64_t message; /* message of the first bad byte; meaningless without one */
	uint64_t offset;  /* of the first bad byte in its message */
	uint64_t expected;
	uint64_t got;
};

/* The check of one connection's stream. All members except the first three start at zero. */
struct pattern_stream {
	uint32_t connection;
	size_t message_bytes;
	struct picker picker; /* zero: each message has its own fields */
	uint64_t message;     /* the position of the next byte */
	size_t offset;
	struct pattern_verdict found;
};

void pattern__check(struct pattern_stream *s, const void *buffer, size_t length);
