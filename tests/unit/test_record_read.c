// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Records that anybody may have written: what has another type is as if it were not there. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "user/report/cells.h"
#include "user/report/record_read.h"
#include "user/system/files.h"

static const char *const odd[] = {"null",  "{}",   "[]",  "[null]",
				  "\"x\"", "true", "NaN", "-Infinity"};

static json_object *with(const char *value)
{
	char text[128];

	snprintf(text, sizeof(text), "{\"v\": %s, \"list\": [%s]}\n", value, value);
	return files__parse_json(text, strlen(text));
}

static void what_is_no_number_is_none(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		json_object *o = with(odd[i]);
		double value = 7;

		assert_non_null(o);
		assert_false(record__number(o, "/v", &value));
		assert_true(value == 7 && record__value(o, "/v") == 0);
		assert_int_equal(record__count(o, "/v"), 0);
		json_object_put(o);
	}
}

static void what_has_another_type_is_not_there(void **state)
{
	struct hist h = {};

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		json_object *o = with(odd[i]);

		assert_int_equal(record__length(o, "/v"), i == 3);
		assert_null(record__row(o, "/v", 0));
		assert_null(record__members(o, "/v"));
		assert_int_equal(record__flag(o, "/v"), i == 5);
		assert_string_equal(record__string(o, "/v"), i == 4 ? "x" : "");
		record__add_hist(&h, record__at(o, "/v"));
		assert_int_equal(h.count, 0);
		json_object_put(o);
	}
}

static void counts_are_kept_in_their_range(void **state)
{
	static const struct {
		const char *text;
		uint64_t count;
	} cases[] = {{"3", 3},
		     {"2.9", 2},
		     {"-1", 0},
		     {"-1e300", 0},
		     {"1e300", UINT64_MAX},
		     {"18446744073709551615", UINT64_MAX}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_object *o = with(cases[i].text);

		assert_true(record__count(o, "/v") == cases[i].count);
		json_object_put(o);
	}
}

static void strings_can_be_printed(void **state)
{
	json_object *o = with("\"eth\\u001b[2J\\n\"");

	(void)state;
	assert_string_equal(record__string(o, "/v"), "eth\\x1b[2J\\x0a");
	assert_string_equal(record__string(o, "/v"), "eth\\x1b[2J\\x0a");
	assert_string_equal(record__name(o, "/v"), "eth\x1b[2J\n");
	json_object_put(o);
}

static void a_line_is_one_object(void **state)
{
	static const char *const lines[] = {"",	      "\n",	"1\n",	     "[]\n", "{\n",
					    "{}{}\n", "{} x\n", "{\"a\":\n", "nul",  "{}\n\0{}"};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_null(files__parse_json(lines[i], i == 9 ? 6 : strlen(lines[i])));
}

#define SOUND(repeat, app)                                                                        \
	"{\"schema\": \"s\", \"tool\": {}, \"host\": {}, \"load\": {}, \"run\": {\"cell\": \"c\"" \
	", \"repeat\": " repeat "}, \"app\": " app "}"

static void what_is_odd_is_named(void **state)
{
	static const struct {
		const char *line, *why;
	} cases[] = {
		{SOUND("1", "null"), NULL},
		{SOUND("1", "{}"), NULL},
		{SOUND("NaN", "null"), "/run/repeat is not of type int"},
		{SOUND("\"1\"", "null"), "/run/repeat is not of type int"},
		{SOUND("1", "[]"), "/app is not of type object"},
		{SOUND("1", "{\"a\": [Infinity]}"), "a number is not finite"},
		{"{}", "/schema is not of type string"},
	};
	char why[128];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_object *o = files__parse_json(cases[i].line, strlen(cases[i].line));

		assert_int_equal(record__is_sound(o, why, sizeof(why)), !cases[i].why);
		if (cases[i].why)
			assert_string_equal(why, cases[i].why);
		json_object_put(o);
	}
}

#define ROWS 200

/* A repeat that has nothing in common with the others but its host and its keys. */
static json_object *repeat(int number)
{
	static char line[ROWS * 32];
	int i, used = sprintf(
		       line,
		       "{\"run\": {\"cell\": \"c\", \"repeat\": %d}, \"host\": {\"a\": [1, 2]},"
		       "\"calls\": [{\"wall_ns\": {\"count\": %d, \"buckets\": [",
		       number, ROWS);

	for (i = 0; i < ROWS; i++)
		used += sprintf(line + used, "%s[%d, %d, %d]", i ? ", " : "", 1 << i % 30,
				2 << i % 30, 1 + (i + number) % ROWS);
	used += sprintf(line + used, "]}}]}");
	return files__parse_json(line, (size_t)used);
}

static void repeats_are_kept_in_little_memory(void **state)
{
	const int count = 200;
	struct cells cells = {};
	struct hist all;
	size_t before = 0;
	uint64_t sum = 0;

	(void)state;
	for (int n = 0; n < count; n++) {
		json_object *o = repeat(n);

		if (n == count / 2)
			before = mallinfo2().uordblks;
		assert_int_equal(cells__add(&cells, o), 0);
		json_object_put(o);
	}
	assert_true(mallinfo2().uordblks - before < (size_t)count / 2 * 8192);
	cell__wall(cells.cells, &all);
	for (size_t i = 0; i < HIST_BUCKETS; i++)
		sum += all.buckets[i];
	assert_int_equal(all.count, count * ROWS);
	assert_int_equal(sum, count * ROWS * (ROWS + 1) / 2);
	cells__free(&cells);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_no_number_is_none),
		cmocka_unit_test(what_has_another_type_is_not_there),
		cmocka_unit_test(counts_are_kept_in_their_range),
		cmocka_unit_test(strings_can_be_printed),
		cmocka_unit_test(a_line_is_one_object),
		cmocka_unit_test(what_is_odd_is_named),
		cmocka_unit_test(repeats_are_kept_in_little_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
