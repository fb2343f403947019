/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests pure parts of sending: the contents of messages, and when they are due. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loadgen/data/memory.h"
#include "loadgen/data/message.h"
#include "loadgen/data/pattern.h"
#include "loadgen/load.h"
#include "loadgen/send/pool.h"
#include "loadgen/send/send_loop.h"

static void picks_in_order_take_each_field_in_turn(void **state)
{
	struct picker p = {.count = 12, .fields = 5, .seed = 3};
	uint64_t first = picker__field(&p, 77, 0, 0);

	for (uint64_t n = 0; n < 100; n++)
		assert_int_equal(picker__field(&p, 77, n / 5, n % 5), (first + n) % 12);
}

static void connections_begin_at_different_fields(void **state)
{
	struct picker p = {.count = 1 << 20, .fields = 8};

	for (uint32_t c = 1; c < 100; c++)
		assert_true(picker__field(&p, c, 0, 0) != picker__field(&p, c + 1, 0, 0));
}

static void random_picks_are_even_and_reproducible(void **state)
{
	struct picker p = {.count = 50, .fields = 8, .seed = 9, .random = true};
	struct picker other = {.count = 50, .fields = 8, .seed = 10, .random = true};
	unsigned int hits[50] = {0}, same = 0;

	for (uint64_t n = 0; n < 50000; n++) {
		uint64_t i = picker__field(&p, 5, n / 8, n % 8);

		assert_true(i < 50);
		assert_int_equal(i, picker__field(&p, 5, n / 8, n % 8));
		hits[i]++;
		same += i == picker__field(&other, 5, n / 8, n % 8);
	}
	for (int i = 0; i < 50; i++) /* 1000 draws each; the standard deviation is 31 */
		assert_in_range(hits[i], 800, 1200);
	assert_in_range(same, 800, 1200);
}

/* Sends messages from a data set, as one connection of this load, and checks them. */
static struct pattern_stream stream_of(const struct load *load, uint64_t messages, size_t chunk_max,
				       int64_t flip)
{
	struct failure f = {0};
	struct pattern_stream s = {.connection = 7,
				   .message_bytes = load->message_bytes,
				   .picker = dataset__picker(load)};
	struct dataset d;
	struct message m;

	assert_int_equal(dataset__create(&d, load, &f), 0);
	assert_int_equal(message__create(&m, load->message_bytes, load__fields(load), false), 0);
	for (uint64_t n = 0; n < messages; n++) {
		dataset__pick(&d, &m, 7, n);
		for (unsigned int i = 0; i < m.count; i++) {
			char *at = m.fields[i].iov_base;
			size_t left = m.fields[i].iov_len;

			if (flip >= 0 && n == 1 && i == (unsigned int)flip)
				at[left - 1] ^= 1;
			while (left) {
				size_t piece = 1 + (size_t)rand() % chunk_max;

				piece = piece < left ? piece : left;
				pattern__check(&s, at, piece);
				at += piece;
				left -= piece;
			}
			if (flip >= 0 && n == 1 && i == (unsigned int)flip)
				at[-1] ^= 1;
		}
	}
	message__destroy(&m);
	memory__unmap(&d.memory);
	return s;
}

static void the_receiver_follows_every_pick(void **state)
{
	static const struct {
		const char *variant;
		size_t bytes, set, align;
		unsigned int fields;
		enum pick pick;
	} cases[] = {
		{"onecopy", 16384, 1 << 20, 0, 8, PICK_ORDER},
		{"onecopy", 16384, 1 << 20, 0, 8, PICK_RANDOM},
		{"zerocopy", 99999, 1 << 20, 0, 7, PICK_RANDOM},
		{"writev", 65, 4096, 64, 64, PICK_RANDOM},
		{"sendfile", 5000, 1 << 16, 0, 8, PICK_RANDOM},
	};

	srand(4);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct load load = {.variant = cases[i].variant,
				    .message_bytes = cases[i].bytes,
				    .fields = cases[i].fields,
				    .working_set = cases[i].set,
				    .align = cases[i].align,
				    .pick = cases[i].pick,
				    .seed = 2};
		struct pattern_stream s = stream_of(&load, 20, 3000, -1);

		assert_int_equal(s.found.checked, 20 * cases[i].bytes);
		assert_int_equal(s.found.bad, 0);
		assert_int_equal(s.message, 20);
		s = stream_of(&load, 3, 3000, 0);
		assert_int_equal(s.found.bad, 1);
		assert_int_equal(s.found.message, 1);
	}
}

static void fields_lie_apart_as_requested(void **state)
{
	struct load load = {0};

	assert_int_equal(memory__stride(&load, 128), 144); /* the distance of malloc()'s blocks */
	assert_int_equal(memory__stride(&load, 1), 16);
	load.align = 64;
	assert_int_equal(memory__stride(&load, 128), 128);
	assert_int_equal(memory__stride(&load, 129), 192);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* A process may use the lowest limit of its group and the groups above, in either version. */
static void memory_is_limited_by_control_groups(void **state)
{
	const struct {
		const char *membership, *version_2, *version_1, *above;
		double bytes; /* 0: the machine's */
	} rows[] = {
		{"0::/a/b\n", "max\n", "5000\n", "max\n", 0},
		{"0::/a/b\n", "4096\n", "5000\n", "max\n", 4096},
		{"0::/a/b\n", "4096\n", "5000\n", "2048\n", 2048},
		{"0::/a/b\n", "max\n", "5000\n", "2048\n", 2048},
		{"0::/gone\n", "4096\n", "5000\n", "2048\n", 0},
		{"5:cpu:/a\n4:memory:/a\n0::/\n", "4096\n", "5000\n", "max\n", 5000},
		{"4:memory:/a\n0::/a/b\n", "4096\n", "5000\n", "max\n", 4096},
		{"no group\n", "4096\n", "5000\n", "2048\n", 0},
		{"", "4096\n", "5000\n", "2048\n", 0},
	};
	double machine = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
	char there[] = "/tmp/memory-XXXXXX", before[4096];

	assert_non_null(getcwd(before, sizeof(before)));
	assert_non_null(mkdtemp(there));
	assert_int_equal(chdir(there), 0);
	assert_int_equal(mkdir("a", 0700) | mkdir("a/b", 0700), 0);
	assert_int_equal(mkdir("memory", 0700) | mkdir("memory/a", 0700), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		write_file("membership", rows[i].membership);
		write_file("a/memory.max", rows[i].above);
		write_file("a/b/memory.max", rows[i].version_2);
		write_file("memory/a/memory.limit_in_bytes", rows[i].version_1);
		assert_float_equal(memory__limit("membership", "."),
				   rows[i].bytes > 0 ? rows[i].bytes : machine, 0);
	}
	assert_float_equal(memory__limit("missing", "."), machine, 0);
	unlink("membership");
	unlink("a/memory.max");
	unlink("a/b/memory.max");
	unlink("memory/a/memory.limit_in_bytes");
	assert_int_equal(rmdir("a/b") | rmdir("a") | rmdir("memory/a") | rmdir("memory"), 0);
	assert_int_equal(chdir(before) | rmdir(there), 0);
}

/* Fields of 64 bytes that begin at multiples of 2 MiB take all memory between. */
static void memory_is_summed_as_it_is_taken(void **state)
{
	struct load load = {.variant = "zerocopy",
			    .fields = 1,
			    .message_bytes = 64,
			    .threads = 1,
			    .inflight = 8};

	assert_true(pool__need(&load) < 2 * (2 << 20));
	load.align = 2 << 20;
	assert_true(pool__need(&load) >= 8 * (2 << 20));
	load.threads = 16;
	assert_true(pool__need(&load) >= 16 * 8 * (2 << 20));
}

static void mapped_memory_is_aligned(void **state)
{
	struct failure f = {0};
	struct memory m;

	for (size_t align = 4096; align <= 2 << 20; align *= 2)
		for (int file = 0; file < 2; file++) {
			struct load load = {.align = align};

			assert_int_equal(memory__map(&m, 100, &load, file, &f), 0);
			assert_int_equal((uintptr_t)m.base % align, 0);
			assert_int_equal(m.base[0] | m.base[m.bytes - 1], 0);
			memory__unmap(&m);
		}
}

static void messages_are_due_at_the_rate_for_years(void **state)
{
	const uint64_t second = 1000000000ULL;

	assert_int_equal(pacing__due(0, 3), 0);
	assert_int_equal(pacing__due(1, 3), 333333333);
	assert_int_equal(pacing__due(3, 3), second);
	assert_int_equal(pacing__due(RATE_MAX * 1000000, RATE_MAX), second * 1000000);
	assert_int_equal(pacing__count(0, 3), 0);
	assert_int_equal(pacing__count(1, 3), 1); /* the first message is due at once */
	assert_int_equal(pacing__count(second, 3), 3);
	assert_int_equal(pacing__count(second + 1, 3), 4);
	assert_int_equal(pacing__count(second * 1000000, 1000), 1000000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(picks_in_order_take_each_field_in_turn),
		cmocka_unit_test(connections_begin_at_different_fields),
		cmocka_unit_test(random_picks_are_even_and_reproducible),
		cmocka_unit_test(the_receiver_follows_every_pick),
		cmocka_unit_test(fields_lie_apart_as_requested),
		cmocka_unit_test(memory_is_limited_by_control_groups),
		cmocka_unit_test(memory_is_summed_as_it_is_taken),
		cmocka_unit_test(mapped_memory_is_aligned),
		cmocka_unit_test(messages_are_due_at_the_rate_for_years),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
