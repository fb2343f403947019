/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <endian.h>
#include <string.h>

#include "loadgen/pattern.h"

#define CHUNK 4096 /* expected bytes are made and compared this many at a time */

/* The finalizer of splitmix64: every input bit reaches every output bit. */
static inline uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

static inline uint64_t word(uint64_t seed, uint64_t index)
{
	return htole64(mix(seed + index * 0x9e3779b97f4a7c15ULL));
}

/* Part of one word: bytes [skip, skip + length) of it. */
static void fill_part(uint64_t seed, uint64_t index, size_t skip, uint8_t *out, size_t length)
{
	uint64_t w = word(seed, index);

	memcpy(out, (const uint8_t *)&w + skip, length);
}

void pattern__fill(uint32_t connection, uint64_t message, size_t offset, void *buffer,
		   size_t length)
{
	uint64_t seed = mix(mix(connection + 1) + message), index = offset / 8;
	size_t skip = offset % 8;
	uint8_t *out = buffer;

	if (skip) {
		size_t head = 8 - skip < length ? 8 - skip : length;

		fill_part(seed, index++, skip, out, head);
		out += head;
		length -= head;
	}
	for (; length >= 8; length -= 8, out += 8) {
		uint64_t w = word(seed, index++);

		memcpy(out, &w, 8);
	}
	if (length)
		fill_part(seed, index, 0, out, length);
}

static void note_bad(struct pattern_stream *s, const uint8_t *expected, const uint8_t *got,
		     size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (expected[i] == got[i])
			continue;
		if (!s->bad++)
			s->first = (struct pattern_mismatch){
				.message = s->message,
				.offset = s->offset + i,
				.expected = expected[i],
				.got = got[i],
			};
	}
}

void pattern__check(struct pattern_stream *s, const void *buffer, size_t length)
{
	const uint8_t *got = buffer;
	uint8_t expected[CHUNK];

	while (length) {
		size_t n = s->message_bytes - s->offset;

		if (n > length)
			n = length;
		if (n > CHUNK)
			n = CHUNK;
		pattern__fill(s->connection, s->message, s->offset, expected, n);
		if (memcmp(expected, got, n))
			note_bad(s, expected, got, n);
		s->checked += n;
		s->offset += n;
		if (s->offset == s->message_bytes) {
			s->offset = 0;
			s->message++;
		}
		got += n;
		length -= n;
	}
}
