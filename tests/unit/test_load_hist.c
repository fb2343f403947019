/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/unit/unit.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "common/hist_stats.h"

static void merging_equals_one_writer(void **state)
{
	struct hist a = {0}, b = {0}, both = {0};
	uint64_t v = 1;

	for (int i = 0; i < 5000; i++) {
		v = v * 6364136223846793005ULL + 1442695040888963407ULL;
		hist_add(i % 3 ? &a : &b, v >> (v % 60));
		hist_add(&both, v >> (v % 60));
	}
	hist__merge(&a, &b);
	assert_memory_equal(&a, &both, sizeof(a));
	hist__merge(&a, &(struct hist){0});
	assert_memory_equal(&a, &both, sizeof(a));
}

static void merging_into_nothing_keeps_the_minimum(void **state)
{
	struct hist a = {0}, b = {0};

	hist_add(&b, 500);
	hist__merge(&a, &b);
	assert_int_equal(a.min, 500);
}

static void percentiles_of_small_values_are_exact(void **state)
{
	struct hist h = {0};

	for (uint64_t v = 1; v <= 10; v++)
		hist_add(&h, v);
	assert_int_equal(hist__percentile(&h, 500), 5);
	assert_int_equal(hist__percentile(&h, 501), 6);
	assert_int_equal(hist__percentile(&h, 900), 9);
	assert_int_equal(hist__percentile(&h, 990), 10);
	assert_int_equal(hist__percentile(&h, 0), 1);
	assert_int_equal(hist__percentile(&h, 1000), 10);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void percentiles_are_at_most_a_sixteenth_too_high(void **state)
{
	static const unsigned int points[] = {1, 100, 500, 900, 990, 999, 1000};
	static uint64_t values[7777];
	struct hist h = {0};
	uint64_t v = 42;

	for (int i = 0; i < 7777; i++) {
		v = v * 6364136223846793005ULL + 1442695040888963407ULL;
		values[i] = (v >> 33) >> (v % 30);
		hist_add(&h, values[i]);
	}
	qsort(values, 7777, sizeof(values[0]), by_value);
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		uint64_t exact = values[(7777 * points[i] + 999) / 1000 - 1];
		uint64_t got = hist__percentile(&h, points[i]);

		assert_in_range(got, exact, exact + exact / 16);
	}
}

static void values_beyond_the_last_bucket_stay_below_the_maximum(void **state)
{
	struct hist h = {0};

	hist_add(&h, HIST_LIMIT * 5);
	assert_int_equal(hist__percentile(&h, 500), HIST_LIMIT * 5);
	assert_int_equal(hist__high(&h, HIST_BUCKETS - 1), HIST_LIMIT * 5);
}

static void json_has_every_value_and_nothing_for_none(void **state)
{
	struct json_object *o, *buckets, *value;
	struct hist h = {0};

	o = hist__json(&h, "message");
	assert_string_equal(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN),
			    "{\"span\":\"message\",\"count\":0,\"sum\":0,\"min\":null,\"max\":null,"
			    "\"p50\":null,"
			    "\"p90\":null,\"p99\":null,\"p999\":null,\"buckets\":[]}");
	json_object_put(o);
	hist_add(&h, 3);
	hist_add(&h, 1000);
	hist_add(&h, 1000);
	o = hist__json(&h, "syscall");
	assert_true(json_object_object_get_ex(o, "buckets", &buckets));
	assert_string_equal(json_object_to_json_string_ext(buckets, JSON_C_TO_STRING_PLAIN),
			    "[[3,3,1],[992,1023,2]]");
	assert_true(json_object_object_get_ex(o, "p50", &value));
	assert_int_equal(json_object_get_int(value), 1000);
	json_object_put(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merging_equals_one_writer),
		cmocka_unit_test(merging_into_nothing_keeps_the_minimum),
		cmocka_unit_test(percentiles_of_small_values_are_exact),
		cmocka_unit_test(percentiles_are_at_most_a_sixteenth_too_high),
		cmocka_unit_test(values_beyond_the_last_bucket_stay_below_the_maximum),
		cmocka_unit_test(json_has_every_value_and_nothing_for_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
