/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "loadgen/data/message.h"
#include "loadgen/data/pattern.h"

#define MESSAGES 5

/* Returns a stream of whole messages, as connection 77 sends it. */
static uint8_t *make_stream(size_t bytes)
{
	uint8_t *stream = malloc(MESSAGES * bytes);

	for (uint64_t m = 0; m < MESSAGES; m++)
		pattern__fill(77, m, 0, stream + m * bytes, bytes);
	return stream;
}

static struct pattern_stream checker(size_t bytes)
{
	return (struct pattern_stream){.connection = 77, .message_bytes = bytes};
}

static void filling_in_pieces_gives_the_same(void **state)
{
	uint8_t whole[1000], pieces[1000];

	srand(1);
	pattern__fill(5, 9, 0, whole, sizeof(whole));
	for (int round = 0; round < 500; round++) {
		size_t done = 0;

		memset(pieces, 0, sizeof(pieces));
		while (done < sizeof(pieces)) {
			size_t n = 1 + (size_t)rand() % 40;

			n = n < sizeof(pieces) - done ? n : sizeof(pieces) - done;
			pattern__fill(5, 9, done, pieces + done, n);
			done += n;
		}
		assert_memory_equal(whole, pieces, sizeof(whole));
	}
}

static void checking_in_pieces_finds_nothing_wrong(void **state)
{
	static const size_t sizes[] = {64, 65, 1000, 9999};

	srand(2);
	for (size_t i = 0; i < 4 * 50; i++) {
		size_t bytes = sizes[i % 4], total = MESSAGES * bytes, done = 0;
		struct pattern_stream s = checker(bytes);
		uint8_t *stream = make_stream(bytes);

		while (done < total) {
			size_t n = 1 + (size_t)rand() % (2 * bytes);

			n = n < total - done ? n : total - done;
			pattern__check(&s, stream + done, n);
			done += n;
		}
		assert_int_equal(s.found.checked, total);
		assert_int_equal(s.found.bad, 0);
		assert_int_equal(s.message, MESSAGES);
		free(stream);
	}
}

static void every_flipped_bit_is_found_where_it_is(void **state)
{
	size_t bytes = 65, total = MESSAGES * bytes;
	uint8_t *stream = make_stream(bytes);

	for (size_t bit = 0; bit < 8 * total; bit++) {
		struct pattern_stream s = checker(bytes);
		size_t at = bit / 8, cut = 1 + bit % (total - 1);

		stream[at] ^= (uint8_t)(1 << bit % 8);
		pattern__check(&s, stream, cut);
		pattern__check(&s, stream + cut, total - cut);
		assert_int_equal(s.found.bad, 1);
		assert_int_equal(s.found.message, at / bytes);
		assert_int_equal(s.found.offset, at % bytes);
		assert_int_equal(s.found.got, stream[at]);
		stream[at] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(s.found.expected, stream[at]);
	}
	free(stream);
}

static uint64_t bad_bytes(const uint8_t *stream, size_t bytes)
{
	struct pattern_stream s = checker(bytes);

	pattern__check(&s, stream, MESSAGES * bytes);
	return s.found.bad;
}

static void misplaced_bytes_are_found(void **state)
{
	size_t bytes = 1000;
	uint8_t *stream = make_stream(bytes), *other = malloc(bytes);

	memcpy(other, stream, bytes); /* stale: the first message again instead of the second */
	memcpy(stream + bytes, other, bytes);
	assert_true(bad_bytes(stream, bytes) > bytes * 9 / 10);
	pattern__fill(77, 1, 0, stream + bytes, bytes);
	assert_int_equal(bad_bytes(stream, bytes), 0);
	pattern__fill(78, 1, 0, stream + bytes, bytes); /* another connection's */
	assert_true(bad_bytes(stream, bytes) > bytes * 9 / 10);
	pattern__fill(77, 1, 0, stream + bytes, bytes);
	memmove(stream + 8, stream, 8); /* a word repeated */
	assert_true(bad_bytes(stream, bytes) >= 6);
	free(stream);
	free(other);
}

static void fields_hold_the_message_in_order(void **state)
{
	static const struct {
		size_t bytes;
		unsigned int fields;
	} cases[] = {{64, 1}, {64, 64}, {65, 8}, {99999, 7}, {1000, 1000}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pattern_stream s = {.connection = 3, .message_bytes = cases[i].bytes};
		struct message m;

		assert_int_equal(message__create(&m, cases[i].bytes, cases[i].fields, true), 0);
		message__fill(&m, 3, 0);
		for (unsigned int f = 0; f < m.count; f++) {
			assert_int_equal(m.fields[f].iov_len,
					 m.bytes / m.count + (f < m.bytes % m.count));
			pattern__check(&s, m.fields[f].iov_base, m.fields[f].iov_len);
		}
		assert_int_equal(s.found.bad, 0);
		assert_int_equal(s.message, 1);
		message__destroy(&m);
	}
}

static void the_rest_of_a_message_is_what_was_not_sent(void **state)
{
	struct message m;

	assert_int_equal(message__create(&m, 100, 7, true), 0);
	message__fill(&m, 3, 0);
	for (size_t done = 0; done <= 100; done++) {
		struct pattern_stream s = {.connection = 3, .message_bytes = 100, .offset = done};
		unsigned int count;
		const struct iovec *rest = message__rest(&m, done, &count);

		for (unsigned int i = 0; i < count; i++)
			pattern__check(&s, rest[i].iov_base, rest[i].iov_len);
		assert_int_equal(s.found.checked, 100 - done);
		assert_int_equal(s.found.bad, 0);
	}
	message__destroy(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filling_in_pieces_gives_the_same),
		cmocka_unit_test(checking_in_pieces_finds_nothing_wrong),
		cmocka_unit_test(every_flipped_bit_is_found_where_it_is),
		cmocka_unit_test(misplaced_bytes_are_found),
		cmocka_unit_test(fields_hold_the_message_in_order),
		cmocka_unit_test(the_rest_of_a_message_is_what_was_not_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
