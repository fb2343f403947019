/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Message contents that say where they belong. Each 64-bit word is a mix of the
 * connection, the message's number and the word's index, so that a byte that was
 * swapped, repeated, stale or flipped differs from the byte that belongs there.
 * Pure: no I/O; the same bytes however the stream is cut.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "loadgen/data/picker.h"

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
