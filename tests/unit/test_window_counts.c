// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Tests values computed from the sums of the kernel programs. */
#include "tests/unit/unit.h"

#include <string.h>

#include "common/hist_stats.h"
#include "user/trace/tracer_private.h"
#include "user/trace/window_counts.h"

static struct window_counts m;
static const struct call_slot seven_of_which_two_failed = {
	.failed = 2, .sizes = {{1, 0}, {0, 0}, {1, 3}, [31] = {3, 3ULL << 30}}};

static int clear(void **state)
{
	memset(&m, 0, sizeof(m));
	return 0;
}

static void test_sends_of_all_syscalls_add_up(void **state)
{
	struct call_sums sums;

	m.calls[CALL_SLOT(CALL_SENDTO, true)].sizes[7] = (struct sized_sends){5, 500};
	m.calls[CALL_SLOT(CALL_SENDMSG, true)] = seven_of_which_two_failed;
	m.calls[CALL_SLOT(CALL_SENDMSG, false)].sizes[1].sends = 100;
	m.totals.completions = 9;
	sums = window_counts__zerocopy(&m, false);
	assert_int_equal(sums.sends, 12);
	assert_int_equal(sums.failed, 2);
	assert_int_equal(sums.bytes, 500 + 3 + (3ULL << 30));
	assert_int_equal(window_counts__outstanding(&m, false), 1);
}

static void test_a_size_is_in_one_class(void **state)
{
	__u32 i;

	assert_int_equal(size_class(0), 0);
	assert_int_equal(size_class(1), 1);
	for (i = 2; i < SIZE_CLASSES; i++) {
		assert_int_equal(size_class(1U << (i - 1)), i);
		assert_int_equal(size_class((1U << i) - 1), i);
	}
}

/* The window closes in the middle of sends, so a sum may lack the beginning of one. */
static void test_nothing_falls_below_zero(void **state)
{
	struct call_sums sums;

	m.calls[CALL_SLOT(CALL_SENDMSG, true)] = seven_of_which_two_failed;
	m.totals.completions = 6;
	m.in_sends = 2;
	sums = window_counts__zerocopy(&m, false);
	assert_int_equal(sums.sends, 8); /* one send completed before it returned */
	assert_int_equal(window_counts__outstanding(&m, false), 0);
	m.totals.uring_completions = 1;
	assert_int_equal(window_counts__outstanding(&m, true), 0);
}

static void test_sends_in_progress_are_not_lost(void **state)
{
	static const struct hook_option function, pair = {.counts_at_end = true};

	m.in_sends = m.totals.unreturned = 1;
	assert_int_equal(window_counts__lost_calls(&m, &pair, false), 0);
	assert_int_equal(window_counts__lost_calls(&m, &function, true), 0);
	m.programs.missed_ends = 1;
	assert_int_equal(window_counts__lost_calls(&m, &pair, true), 1);
	assert_int_equal(window_counts__lost_calls(&m, &function, true), 1);
	m.programs.missed_begins = 3; /* one of the missed sends is a thread's first */
	m.totals.returned_first = 1;
	assert_int_equal(window_counts__lost_calls(&m, &pair, true), 2);
	assert_int_equal(window_counts__lost_calls(&m, &function, true), 4);
	m.programs.missed_begins = 0;
	assert_int_equal(window_counts__lost_calls(&m, &pair, true), 1);
	m.programs.missed_ends = 5;
	assert_int_equal(window_counts__lost_calls(&m, &function, true), 2);
	m.programs.missed_unknown[HOOK_SEND] = true;
	assert_int_equal(window_counts__lost_calls(&m, &function, true), 2);
	assert_int_equal(window_counts__lost_calls(&m, &function, false), 0);
	m.in_sends = m.totals.unreturned = 0;
	assert_int_equal(window_counts__lost_calls(&m, &function, true), 0);
}

static void expect_mended(struct hist before, __u64 min, __u64 max)
{
	hist__settle(&before);
	assert_int_equal(before.min, min);
	assert_int_equal(before.max, max);
}

static void test_extremes_agree_with_the_buckets(void **state)
{
	struct hist h = {};

	expect_mended(h, 0, 0);
	hist_add(&h, 1000);
	hist_add(&h, 70000);
	expect_mended(h, 1000, 70000);
	/* An interrupt's value was overwritten by the program that it interrupted. */
	h.min = 70000;
	h.max = 1000;
	expect_mended(h, hist_low(hist_bucket(1000)), hist_low(hist_bucket(70000) + 1) - 1);
	/* min and max were never set, because the only value was 0. */
	h = (struct hist){};
	hist_add(&h, 0);
	expect_mended(h, 0, 0);
}

static void test_extremes_beyond_the_last_bucket(void **state)
{
	struct hist h = {};

	hist_add(&h, HIST_LIMIT * 3);
	expect_mended(h, HIST_LIMIT * 3, HIST_LIMIT * 3);
	h.max = 0;
	hist__settle(&h);
	assert_true(h.max >= hist_low(HIST_BUCKETS - 1));
}

static void test_memory_of_stages_is_bounded(void **state)
{
	const unsigned long long mib = 1 << 20;

	assert_int_equal(tracer__stage_shares(2), 2);
	assert_int_equal(tracer__stage_shares(256), STAGE_SHARES_MAX);
	/* The memory of --stages has this bound for each metric, on a machine of any size. */
	assert_true(sizeof(struct stage_slot) * CALL_SLOTS * STAGE_SHARES_MAX <= 9 * mib);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_of_stages_is_bounded),
		cmocka_unit_test_setup(test_sends_of_all_syscalls_add_up, clear),
		cmocka_unit_test(test_a_size_is_in_one_class),
		cmocka_unit_test_setup(test_nothing_falls_below_zero, clear),
		cmocka_unit_test_setup(test_sends_in_progress_are_not_lost, clear),
		cmocka_unit_test_setup(test_extremes_agree_with_the_buckets, clear),
		cmocka_unit_test_setup(test_extremes_beyond_the_last_bucket, clear),
	};

	return cmocka_run_group_tests_name("measured", tests, NULL, NULL);
}
