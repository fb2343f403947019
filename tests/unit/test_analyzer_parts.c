// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The analyzer's small pure parts: names, verdicts, tables, medians, reading records. */
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

#include "common/hist_stats.h"
#include "common/program.h"
#include "user/kernel/calls.h"
#include "user/kernel/netdev.h"
#include "user/report/record_read.h"
#include "user/report/table.h"
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

static void expect(struct netdev d, const char *answer)
{
	assert_string_equal(netdev__zerocopy(&d).answer, answer);
}

static void test_devices(void **state)
{
	(void)state;
	expect((struct netdev){.loopback = true, .scatter_gather = true, .checksum = true}, "no");
	expect((struct netdev){.driver = "tun", .scatter_gather = true, .checksum = true}, "no");
	expect((struct netdev){.driver = "e1000e", .checksum = true}, "no");
	expect((struct netdev){.driver = "e1000e", .scatter_gather = true}, "no");
	expect((struct netdev){.driver = "veth", .scatter_gather = true, .checksum = true},
	       "depends");
	expect((struct netdev){.driver = "e1000e", .scatter_gather = true, .checksum = true},
	       "yes");
}

static void test_table_aligns(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct table t = {};

	(void)state;
	table__row(&t);
	table__cell(&t, "name");
	table__cell(&t, "value");
	table__row(&t);
	table__cell(&t, "a");
	table__cell(&t, "%d", 12345678);
	table__row(&t);
	table__cell(&t, "alone");
	table__print(&t, out);
	fclose(out);
	assert_string_equal(text, "name      value\na      12345678\nalone\n");
	free(text);
}

static void test_median(void **state)
{
	double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2}, none[1];

	(void)state;
	assert_true(median(odd, 3) == 2);
	assert_true(median(even, 4) == 2.5);
	assert_true(median(none, 0) == 0);
}

static void test_histogram_survives_the_record(void **state)
{
	static struct hist before, after;
	json_object *o;
	size_t i;

	(void)state;
	for (i = 0; i < 1000; i++)
		hist_add(&before, i * i * 37);
	hist_add(&before, HIST_LIMIT * 2);
	o = hist__json(&before, "message");
	record__add_hist(&after, o);
	json_object_put(o);
	assert_memory_equal(&before, &after, sizeof(before));
}

static void test_absent_is_not_zero(void **state)
{
	json_object *o = json_tokener_parse("{\"a\": {\"b\": null, \"c\": 0}}");
	double value = 42;

	(void)state;
	assert_false(record__number(o, "/a/b", &value));
	assert_false(record__number(o, "/a/d", &value));
	assert_true(value == 42);
	assert_true(record__number(o, "/a/c", &value));
	assert_true(value == 0);
	assert_string_equal(record__string(o, "/a/b"), "");
	json_object_put(o);
}

static void test_counters_are_found_by_side_and_pmu(void **state)
{
	json_object *o = json_tokener_parse(
		"{\"counters\": [{\"event\": \"cycles\", \"pmu\": \"cpu_core\", \"scope\": "
		"\"sender\", \"value\": 1}, {\"event\": \"cycles\", \"pmu\": \"cpu_atom\", "
		"\"scope\": \"sender\", \"value\": 2}, {\"event\": \"cycles\", \"pmu\": "
		"\"cpu_core\", \"scope\": \"receiver\", \"value\": null}]}");
	double value = 0;

	(void)state;
	assert_true(record__counter(o, "sender", "cycles", "cpu_atom", &value) && value == 2);
	assert_true(record__counter(o, "sender", "cycles", NULL, &value) && value == 1);
	assert_false(record__counter(o, "receiver", "cycles", NULL, &value));
	assert_false(record__counter(o, "sender", "branches", NULL, &value));
	json_object_put(o);
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
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_table_aligns),
		cmocka_unit_test(test_median),
		cmocka_unit_test(test_histogram_survives_the_record),
		cmocka_unit_test(test_absent_is_not_zero),
		cmocka_unit_test(test_counters_are_found_by_side_and_pmu),
		cmocka_unit_test(test_ticks_are_of_eight_kinds),
		cmocka_unit_test(test_steal_share_is_of_all_time),
		cmocka_unit_test(test_what_is_not_told_is_unknown),
		cmocka_unit_test(test_waiting_is_of_what_could_run),
		cmocka_unit_test(test_noise_is_of_the_window),
	};

	return cmocka_run_group_tests_name("analyzer parts", tests, NULL, NULL);
}
