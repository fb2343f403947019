/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#include "common/units.h"

static void sizes_are_read(void **state)
{
	static const struct {
		const char *text;
		size_t bytes;
	} good[] = {
		{"64", 64}, {"1K", 1024},   {"4k", 4096},  {"16M", 16 << 20}, {"2G", 2ULL << 30},
		{"5B", 5},  {"3KiB", 3072}, {"3KB", 3072}, {"0", 0},	      {"99999", 99999},
	};
	size_t bytes;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(units__size(good[i].text, &bytes), 0);
		assert_int_equal(bytes, good[i].bytes);
	}
}

static void what_is_no_size_is_refused(void **state)
{
	static const char *const bad[] = {"",  "9E",  "-1",   "+1",   " 1",  "1 ",
					  "K", "1KK", "1.5K", "0x10", "1Ki", "1Bx"};
	size_t bytes = 7;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(units__size(bad[i], &bytes), -EINVAL);
	assert_int_equal(units__size("99999999999999999999", &bytes), -ERANGE);
	assert_int_equal(units__size("18446744073709551615K", &bytes), -ERANGE);
	assert_int_equal(bytes, 7);
}

static void durations_are_read(void **state)
{
	static const struct {
		const char *text;
		double seconds;
	} good[] = {{"10", 10},	    {"10s", 10}, {"0.5", 0.5}, {".5", 0.5}, {"200ms", 0.2},
		    {"50us", 5e-5}, {"2m", 120}, {"1h", 3600}, {"0", 0}};
	static const char *const bad[] = {"",	 "s",	"-1",  "1e3",	"nan", "inf",
					  "0x1", "1 s", "1ss", "1.2.3", ".",   "10d"};
	double seconds;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(units__duration(good[i].text, &seconds), 0);
		assert_float_equal(seconds, good[i].seconds, 1e-12);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(units__duration(bad[i], &seconds), -EINVAL);
	assert_int_equal(units__duration("99999999999", &seconds), -ERANGE);
}

static void lists_are_cut(void **state)
{
	const char *cursor = "256,4K,64K";
	char item[UNITS_ITEM_MAX];

	assert_int_equal(units__next(&cursor, item), 1);
	assert_string_equal(item, "256");
	assert_int_equal(units__next(&cursor, item), 1);
	assert_int_equal(units__next(&cursor, item), 1);
	assert_string_equal(item, "64K");
	assert_int_equal(units__next(&cursor, item), 0);
	cursor = "1,,2";
	assert_int_equal(units__next(&cursor, item), 1);
	assert_int_equal(units__next(&cursor, item), -EINVAL);
	cursor = "1,";
	assert_int_equal(units__next(&cursor, item), 1);
	assert_int_equal(units__next(&cursor, item), -EINVAL);
	cursor = "";
	assert_int_equal(units__next(&cursor, item), -EINVAL);
	cursor = "0123456789012345678901234567890123456789012345678901234567890123456789";
	assert_int_equal(units__next(&cursor, item), -EINVAL);
}

static void texts_are_short_and_read_back(void **state)
{
	static const size_t sizes[] = {0,    1,	    64,	     1023,     1024,
				       1025, 99999, 1 << 20, 16 << 20, 3u << 30};
	size_t back;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_int_equal(units__size(units__size_text(sizes[i]), &back), 0);
		assert_int_equal(back, sizes[i]);
	}
	assert_string_equal(units__size_text(65536), "64K");
	assert_string_equal(units__time_text(25), "25 ns");
	assert_string_equal(units__time_text(3912), "3.91 us");
	assert_string_equal(units__time_text(999600), "1.00 ms");
	assert_string_equal(units__time_text(412e6), "412 ms");
	assert_string_equal(units__count_text(0), "0");
	assert_string_equal(units__count_text(1234567), "1,234,567");
	assert_string_equal(units__count_text(UINT64_MAX), "18,446,744,073,709,551,615");
}

static void splits(const char *text, const char *host, const char *port)
{
	char h[16], p[8];

	assert_int_equal(units__endpoint(text, h, sizeof(h), p), host ? 0 : -EINVAL);
	if (!host)
		return;
	assert_string_equal(h, host);
	assert_string_equal(p, port);
}

static void an_endpoint_is_a_host_and_a_port(void **state)
{
	splits("10.0.0.2:5001", "10.0.0.2", "5001");
	splits("[fe80::1]:1", "fe80::1", "1");
	splits("there:65535", "there", "65535");
	splits("there:65536", NULL, NULL);
	splits("127.0.0.1:0", "127.0.0.1", "0");
	splits("there", NULL, NULL);
	splits(":5", NULL, NULL);
	splits("fe80::1:5", NULL, NULL);
	splits("[]:5", NULL, NULL);
	splits("[fe80::1:5", NULL, NULL);
	splits("a-name-that-is-too-long:5", NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_read),
		cmocka_unit_test(what_is_no_size_is_refused),
		cmocka_unit_test(durations_are_read),
		cmocka_unit_test(lists_are_cut),
		cmocka_unit_test(texts_are_short_and_read_back),
		cmocka_unit_test(an_endpoint_is_a_host_and_a_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
