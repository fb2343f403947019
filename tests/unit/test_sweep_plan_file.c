// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* When two plan files plan the same runs; what the progress of a sweep says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "user/sweep/sweep_private.h"

static char why[256];

/* A plan of one size, and the options it came of. */
static json_object *plan_file(const char *size, unsigned int repeats, uint32_t seed, bool cost)
{
	struct sweep_plan p = {.repeats = repeats, .shard = 1, .shards = 1, .seed = seed};
	struct options o = {.repeat = repeats, .cost = cost, .by_max = 1};
	json_object *written;

	load_options__init(&o.load);
	assert_int_equal(load_options__set(&o.load, "size", size, why, sizeof(why)), 0);
	assert_int_equal(load_options__resolve(&o.load, why, sizeof(why)), 0);
	assert_int_equal(sweep_plan__add(&p, &o.load), 0);
	written = sweep_plan_file__write(&p, &o);
	assert_non_null(written);
	sweep_plan__free(&p);
	return written;
}

/* As the older one is once it was written and read. */
static json_object *read_back(json_object *written)
{
	json_object *back = json_tokener_parse(json_object_to_json_string(written));

	json_object_put(written);
	return back;
}

static bool same(json_object *older, json_object *newer, bool order_given, uint32_t *seed)
{
	bool result = sweep_plan_file__same(older, newer, order_given, seed, why, sizeof(why));

	json_object_put(older);
	json_object_put(newer);
	return result;
}

static void the_older_seed_holds_unless_another_is_asked_for(void **state)
{
	uint32_t seed = 0;

	(void)state;
	assert_true(same(read_back(plan_file("4K", 5, 4000000000u, false)),
			 plan_file("4K", 5, 7, false), false, &seed));
	assert_int_equal(seed, 4000000000u);
	assert_false(same(read_back(plan_file("4K", 5, 8, false)), plan_file("4K", 5, 7, false),
			  true, &seed));
	assert_string_equal(why, "its --order-seed is 8, not 7");
	assert_true(same(read_back(plan_file("4K", 5, 7, false)), plan_file("4K", 5, 7, false),
			 true, &seed));
}

static void what_differs_is_named(void **state)
{
	uint32_t seed;

	(void)state;
	assert_false(same(read_back(plan_file("4K", 5, 1, false)), plan_file("4K", 6, 1, false),
			  false, &seed));
	assert_string_equal(why, "its --repeat is 5, not 6");
	assert_false(same(read_back(plan_file("4K", 5, 1, false)), plan_file("8K", 5, 1, false),
			  false, &seed));
	assert_string_equal(why, "its loads are others");
	assert_false(same(read_back(plan_file("4K", 5, 1, false)), plan_file("4K", 5, 1, true),
			  false, &seed));
	assert_string_equal(why, "its options of measuring are others");
	assert_false(same(json_tokener_parse("{}"), plan_file("4K", 5, 1, false), false, &seed));
	assert_string_equal(why, "its schema is none, not sendpath.plan/1");
	/* Another's file is not to steer a terminal. */
	assert_false(same(json_tokener_parse("{\"schema\": \"\\u001b[2J\"}"),
			  plan_file("4K", 5, 1, false), false, &seed));
	assert_null(strchr(why, 27));
}

static void an_odd_seed_is_refused(void **state)
{
	static const char *const seeds[] = {"NaN", "-1", "1e300", "4294967296", "{}", "null"};
	uint32_t seed;

	(void)state;
	for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
		json_object *older = plan_file("4K", 5, 1, false);

		json_object_object_add(older, "order_seed", json_tokener_parse(seeds[i]));
		assert_false(same(older, plan_file("4K", 5, 1, false), false, &seed));
		assert_non_null(strstr(why, "not a number from 0 to 4294967295"));
	}
}

static void times_left_are_round(void **state)
{
	static const struct {
		double seconds;
		const char *text;
	} expected[] = {{-1, "0 s"},	    {0, "0 s"},		 {59.4, "59 s"},
			{60, "1 min 0 s"},  {260, "4 min 20 s"}, {3600, "1 h 0 min"},
			{7325, "2 h 2 min"}};
	char text[32];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_string_equal(sweep_progress__left(expected[i].seconds, text),
				    expected[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_older_seed_holds_unless_another_is_asked_for),
		cmocka_unit_test(what_differs_is_named),
		cmocka_unit_test(an_odd_seed_is_refused),
		cmocka_unit_test(times_left_are_round),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
