// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Tests perf_stat with the real perf. Skips tests if perf is missing or may not count. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "user/memory/memory.h"

static void is_listed(void **state)
{
	char *names;

	if (perf_stat__list(&names)) {
		print_message("skipped: there is no perf\n");
		skip();
	}
	assert_non_null(strstr(names, "cpu-clock"));
	free(names);
}

static void spin(double seconds)
{
	clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);

	while (clock() < end)
		;
}

static struct perf_stat *start(const char *events)
{
	struct perf_stat *p = NULL;
	char why[256] = "";

	if (perf_stat__start(&p, events, why, sizeof(why))) {
		print_message("skipped: %s\n", why);
		skip();
	}
	return p;
}

/* Returns the milliseconds of cpu-clock, summed over all CPUs, from perf's output. */
static double clock_of(const char *text)
{
	const char *line = text ? strstr(text, ";msec;cpu-clock;") : NULL;

	assert_non_null(line);
	while (line > text && line[-1] != '\n')
		line--;
	return strtod(line, NULL);
}

static void counts_while_enabled(void **state)
{
	struct perf_stat *p = start("cpu-clock");
	char *text;
	double ms;

	assert_int_equal(perf_stat__count(p, 1), 0);
	spin(0.02);
	assert_int_equal(perf_stat__count(p, 0), 0);
	text = perf_stat__finish(p);
	ms = clock_of(text);
	free(text);
	assert_true(ms >= 18);
	/* A second start counts from 0. The count is at least this process's CPU time since. */
	p = start("cpu-clock");
	assert_int_equal(perf_stat__count(p, 1), 0);
	spin(0.1);
	assert_int_equal(perf_stat__count(p, 0), 0);
	text = perf_stat__finish(p);
	assert_true(clock_of(text) >= 98);
	free(text);
}

static void its_message_is_the_reason(void **state)
{
	struct perf_stat *p = NULL;
	char why[256] = "", *names;

	if (perf_stat__list(&names))
		skip();
	free(names);
	assert_int_not_equal(perf_stat__start(&p, "no-such-event", why, sizeof(why)), 0);
	assert_null(p);
	assert_non_null(strstr(why, "no-such-event"));
	assert_null(strchr(why, '\n'));
}

static void without_perf_names_the_reason(void **state)
{
	char *path = strdup(getenv("PATH")), *names;

	setenv("PATH", "/nonexistent", 1);
	assert_int_equal(perf_stat__list(&names), -2 /* ENOENT */);
	setenv("PATH", path, 1);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_listed),
		cmocka_unit_test(counts_while_enabled),
		cmocka_unit_test(its_message_is_the_reason),
		cmocka_unit_test(without_perf_names_the_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
