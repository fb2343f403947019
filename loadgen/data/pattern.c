/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <endian.h>
#include <string.h>

#include "loadgen/data/pattern.h"

#define DATA_SET 0    /* no connection has this number: ports are higher */
#define CHUNK	 4096 /* expected bytes that are computed and compared at a time */

static inline uint64_t word(uint64_t seed, uint64_t index)
{
	return htole64(mix(seed + index * MIX_STEP));
}

/* Writes bytes [skip, skip + length) of one word. */
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

/* Returns the field that contains this byte; sets the byte's offset in it, and its length. */
static uint32_t field_at(const struct pattern_stream *s, size_t offset, size_t *skip,
			 size_t *length)
{
	size_t least = s->message_bytes / s->picker.fields;
	size_t longer = s->message_bytes % s->picker.fields, all_longer = longer * (least + 1);
	size_t i;

	if (offset < all_longer) {
		i = offset / (least + 1);
		*skip = offset % (least + 1);
	} else {
		i = longer + (offset - all_longer) / least;
		*skip = (offset - all_longer) % least;
	}
	*length = least + (i < longer);
	return (uint32_t)i;
}

/* Writes the next expected bytes of a message whose fields are drawn from a data set. */
static void expect_picked(const struct pattern_stream *s, uint8_t *out, size_t length)
{
	size_t offset = s->offset, skip, field;

	while (length) {
		uint32_t i = field_at(s, offset, &skip, &field);
		size_t n = field - skip < length ? field - skip : length;

		pattern__fill_field(picker__field(&s->picker, s->connection, s->message, i), skip,
				    out, n);
		out += n;
		offset += n;
		length -= n;
	}
}

void pattern__fill_field(uint64_t index, size_t offset, void *buffer, size_t length)
{
	pattern__fill(DATA_SET, index, offset, buffer, length);
}

static void note_bad(struct pattern_stream *s, const uint8_t *expected, const uint8_t *got,
		     size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (expected[i] == got[i])
			continue;
		if (s->found.bad++)
			continue;
		s->found.message = s->message;
		s->found.offset = s->offset + i;
		s->found.expected = expected[i];
		s->found.got = got[i];
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
		if (s->picker.count)
			expect_picked(s, expected, n);
		else
			pattern__fill(s->connection, s->message, s->offset, expected, n);
		if (memcmp(expected, got, n))
			note_bad(s, expected, got, n);
		s->found.checked += n;
		s->offset += n;
		if (s->offset == s->message_bytes) {
			s->offset = 0;
			s->message++;
		}
		got += n;
		length -= n;
	}
}
