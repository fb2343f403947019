// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Lines of --interval: the difference of two readings, and how it is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/hist_stats.h"
#include "user/run/live.h"

static struct measured m;
static const struct sight all = {.completions = true, .unreported = true, .unknown = true};

static void some_sends(unsigned int count, __u64 ns)
{
	struct call_slot *s = &m.calls[CALL_SLOT(CALL_SENDMSG, true)];

	s->sizes[size_class(1000)].sends += count;
	s->sizes[size_class(1000)].bytes += 1000 * count;
	while (count--)
		hist_add(&s->wall, ns);
}

static void test_what_came_between(void **state)
{
	struct live_sample before, now, between;

	(void)state;
	memset(&m, 0, sizeof(m));
	some_sends(100, 1000);
	m.totals.completions = m.totals.flagged = 100;
	live_sample__take(&before, &m, &all, 1);
	some_sends(50, 20000);
	m.calls[CALL_SLOT(CALL_WRITE, false)].failed = 7;
	m.totals.completions = 150;
	m.totals.flag_added = 10;
	live_sample__take(&now, &m, &all, 1.5);
	live_sample__subtract(&between, &now, &before);
	assert_true(between.at == 0.5);
	assert_int_equal(between.sends, 57);
	assert_int_equal(between.failed, 7);
	assert_int_equal(between.bytes, 50000);
	assert_int_equal(between.requests, 50);
	assert_int_equal(between.completions, 50);
	assert_int_equal(between.copied, 10);
	assert_int_equal(between.wall.count, 50);
	assert_int_equal(between.wall.sum, 50 * 20000);
	assert_int_equal(hist__percentile(&between.wall, 10), 20000);
}

static void test_both_kinds_of_zero_copy_count(void **state)
{
	struct live_sample now;

	(void)state;
	memset(&m, 0, sizeof(m));
	m.calls[CALL_SLOT(CALL_IO_URING_ZC, true)].sizes[1].sends = 3;
	m.calls[CALL_SLOT(CALL_SENDTO, true)].sizes[1].sends = 4;
	m.totals.completions = 4;
	m.totals.uring_completions = 3;
	m.totals.uring_copied = 1;
	live_sample__take(&now, &m, &all, 1);
	assert_int_equal(now.requests, 7);
	assert_int_equal(now.completions, 7);
	assert_int_equal(now.copied, 1);
}

/* As the report has it: with those without a flag, where a plan sees them. */
static void test_copies_without_a_flag_count(void **state)
{
	const struct sight flags = {.completions = true, .unknown = true};
	struct live_sample now;

	(void)state;
	memset(&m, 0, sizeof(m));
	m.totals.completions = 10;
	m.totals.flagged = 4;
	m.totals.unflagged = 6;
	live_sample__take(&now, &m, &all, 1);
	assert_int_equal(now.copied, 10);
	live_sample__take(&now, &m, &flags, 1);
	assert_int_equal(now.copied, 4);
}

/* io_uring was not asked to tell of copies: a share would be a guess, and 0 % a lie. */
static void test_copies_that_are_not_known(void **state)
{
	const struct sight reported = {.completions = true, .unreported = true};
	struct live_sample now;
	char text[LIVE_LINE_MAX];

	(void)state;
	memset(&m, 0, sizeof(m));
	m.totals.uring_completions = m.totals.uring_unknown = 10;
	live_sample__take(&now, &m, &reported, 1);
	live_sample__line(&now, 1, text);
	assert_string_equal(text + strlen(text) - 4, "   -");
	live_sample__take(&now, &m, &all, 1);
	live_sample__line(&now, 1, text);
	assert_string_equal(text + strlen(text) - 4, " 0 %");
}

static void test_a_line(void **state)
{
	struct live_sample s = {.at = 0.5,
				.sends = 1234,
				.bytes = 1250000,
				.failed = 2,
				.requests = 100,
				.completions = 100,
				.copied = 50};
	char text[LIVE_LINE_MAX];

	(void)state;
	hist_add(&s.wall, 1000);
	live_sample__line(&s, 2.5, text);
	assert_string_equal(text, "   2.5       1,234      20.00      1.00       "
				  "1.00      2         100    50 %");
}

static void test_nothing_happened(void **state)
{
	struct live_sample s = {};
	char text[LIVE_LINE_MAX];

	(void)state;
	live_sample__line(&s, 0, text);
	assert_non_null(strstr(text, " - "));
	assert_null(strstr(text, "nan"));
}

/* A call that waited, on a fast machine. */
static void test_large_numbers(void **state)
{
	struct live_sample s = {.at = 1, .sends = 1, .bytes = 12345678900};
	char text[LIVE_LINE_MAX];

	(void)state;
	hist_add(&s.wall, 1ULL << 21);
	live_sample__line(&s, 12345.67, text);
	assert_non_null(strstr(text, "12,345.7 "));
	assert_non_null(strstr(text, " 98,765.43 "));
	assert_non_null(strstr(text, " 2,097.15 "));
}

/* A flag taken back after the line that counted it. */
static void test_shares_stay_shares(void **state)
{
	struct live_sample s = {.at = 1, .completions = 10, .copied = -3};
	char text[LIVE_LINE_MAX];

	(void)state;
	live_sample__line(&s, 1, text);
	assert_non_null(strstr(text, " 0 %"));
	s.copied = 13;
	live_sample__line(&s, 1, text);
	assert_non_null(strstr(text, " 100 %"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_came_between),
		cmocka_unit_test(test_both_kinds_of_zero_copy_count),
		cmocka_unit_test(test_copies_without_a_flag_count),
		cmocka_unit_test(test_copies_that_are_not_known),
		cmocka_unit_test(test_a_line),
		cmocka_unit_test(test_nothing_happened),
		cmocka_unit_test(test_large_numbers),
		cmocka_unit_test(test_shares_stay_shares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
