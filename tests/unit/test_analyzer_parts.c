// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The analyzer's small pure parts: names, noise. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/program.h"
#include "user/kernel/calls.h"
#include "user/system/noise.h"

static void test_untrusted_names_are_escaped(void **state)
{
	char out[32];

	(void)state;
	assert_string_equal(safe_text("eth0", out, sizeof(out)), "eth0");
	assert_string_equal(safe_text("a\x1b[2J\n\\", out, sizeof(out)), "a\\x1b[2J\\x0a\\");
	assert_string_equal(safe_text("\xff", out, sizeof(out)), "\\xff");
}

static void test_untrusted_names_are_cut_whole(void **state)
{
	char out[8];

	(void)state;
	safe_text("\x01\x01\x01", out, sizeof(out));
	assert_string_equal(out, "\\x01");
}

static void test_every_call_has_a_name(void **state)
{
	int kind, other;

	(void)state;
	for (kind = 0; kind < CALL_KINDS; kind++)
		for (other = 0; other < kind; other++)
			if (kind != CALL_IO_URING_ZC) /* another row of the same syscall */
				assert_string_not_equal(call_name(kind), call_name(other));
}

static void test_errors_have_names(void **state)
{
	(void)state;
	assert_string_equal(call_error_name(EAGAIN), "EAGAIN");
	assert_string_equal(call_error_name(ENOBUFS), "ENOBUFS");
	assert_string_equal(call_error_name(ERRNO_RESTART), "ERESTARTSYS");
	assert_string_equal(call_error_name(0), "other");
	assert_string_equal(call_error_name(ERRNO_SLOTS), "other");
}

static void test_ticks_are_of_eight_kinds(void **state)
{
	struct cpu_ticks ticks = {0};

	(void)state;
	assert_int_equal(cpu_ticks__parse("cpu  1 2 3 4 5 6 7 8 9 10\n", &ticks), 0);
	assert_int_equal(ticks.busy, 6);
	assert_int_equal(ticks.irq, 13);
	assert_int_equal(ticks.steal, 8);
	assert_int_equal(ticks.all, 36); /* guests' time is in user's */
	assert_int_equal(cpu_ticks__parse("cpu 1 2 3 4 5 6 7", &ticks), -EINVAL);
	assert_int_equal(cpu_ticks__parse("intr 1 2 3 4 5 6 7 8", &ticks), -EINVAL);
}

/* Nothing is known of it but ticks. */
static struct noise_totals totals(unsigned long long steal, unsigned long long all)
{
	return (struct noise_totals){.ticks = {.busy = all / 2, .steal = steal, .all = all},
				     .pressure_s = NOISE_UNKNOWN,
				     .throttled = NOISE_UNKNOWN,
				     .khz = NOISE_UNKNOWN,
				     .ran_s = {NOISE_UNKNOWN, NOISE_UNKNOWN}};
}

static double steal(unsigned long long steal, unsigned long long all)
{
	struct noise_totals from = totals(1000, 30000000),
			    to = totals(1000 + steal, 30000000 + all);

	return noise__between(&from, &to).steal_share;
}

static void test_steal_share_is_of_all_time(void **state)
{
	(void)state;
	assert_true(steal(0, NOISE_TICKS) == 0);
	assert_true(steal(NOISE_TICKS, 4 * NOISE_TICKS) == 0.25);
	assert_true(steal(NOISE_TICKS, NOISE_TICKS) == 1);
	assert_true(steal(NOISE_TICKS + 1, NOISE_TICKS) == 1); /* another count ran backwards */
	assert_true(steal(-1ULL, NOISE_TICKS) == 0);	       /* this one did */
	assert_true(steal(1, NOISE_TICKS - 1) == NOISE_UNKNOWN);
	assert_true(steal(0, -1ULL) == NOISE_UNKNOWN);
}

static void test_what_is_not_told_is_unknown(void **state)
{
	struct noise_totals from = totals(0, 100), to = totals(0, 300);
	struct noise n = noise__between(&from, &to);

	(void)state;
	assert_true(n.busy_s == 100.0 / (double)sysconf(_SC_CLK_TCK));
	assert_true(n.pressure_share == NOISE_UNKNOWN && n.throttled == NOISE_UNKNOWN);
	assert_true(n.slowdown == NOISE_UNKNOWN && n.waited_share[0] == NOISE_UNKNOWN);
}

static void test_waiting_is_of_what_could_run(void **state)
{
	struct noise_totals from = totals(0, 100), to = totals(0, 300);
	struct noise n;

	(void)state;
	from.time_s = 7;
	to.time_s = 9;
	from.pressure_s = 1;
	to.pressure_s = 1.5;
	from.khz = 2e6;
	to.khz = 1.5e6;
	from.throttled = to.throttled = 4;
	from.ran_s[0] = 1;
	to.ran_s[0] = 2.5;
	to.waited_s[0] = 0.5;
	from.ran_s[1] = 5; /* some of its threads ended */
	to.ran_s[1] = 4;
	n = noise__between(&from, &to);
	assert_true(n.pressure_share == 0.25 && n.slowdown == 0.25 && n.throttled == 0);
	assert_true(n.waited_share[0] == 0.25 && n.waited_share[1] == NOISE_UNKNOWN);
}

static void test_noise_is_of_the_window(void **state)
{
	const pid_t pids[NOISE_SIDES] = {getpid()};
	struct noise_totals from, to;
	struct noise n;
	unsigned int i;

	(void)state;
	noise__read(&from, pids);
	for (i = 0; i < 100; i++) { /* until ticks of the clock have passed */
		poll(NULL, 0, 10);
		noise__read(&to, pids);
		n = noise__between(&from, &to);
		if (n.steal_share >= 0)
			break;
	}
	assert_true(n.steal_share >= 0 && n.steal_share <= 1);
	assert_true(n.busy_s >= 0 && n.busy_s <= n.all_s);
	assert_true(n.waited_share[1] == NOISE_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_untrusted_names_are_escaped),
		cmocka_unit_test(test_untrusted_names_are_cut_whole),
		cmocka_unit_test(test_every_call_has_a_name),
		cmocka_unit_test(test_errors_have_names),
		cmocka_unit_test(test_ticks_are_of_eight_kinds),
		cmocka_unit_test(test_steal_share_is_of_all_time),
		cmocka_unit_test(test_what_is_not_told_is_unknown),
		cmocka_unit_test(test_waiting_is_of_what_could_run),
		cmocka_unit_test(test_noise_is_of_the_window),
	};

	return cmocka_run_group_tests_name("analyzer parts", tests, NULL, NULL);
}
