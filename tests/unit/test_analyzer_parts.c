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
#include "user/record/record_read.h"
#include "user/report/table.h"
#include "user/system/steal.h"

static void test_untrusted_names_are_escaped(void **state)
{
	char out[32];

	(void)state;
	assert_string_equal(safe_text("eth0", out, sizeof(out)), "eth0");
	assert_string_equal(safe_text("a\x1b[2J\n\\", out, sizeof(out)), "a\\x1b[2J\\x0a\\x5c");
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
	assert_true(call_sends_once(CALL_SENDTO));
	assert_false(call_sends_once(CALL_SENDMMSG));
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

static void test_steal_time_is_the_eighth(void **state)
{
	struct steal_ticks ticks = {0};

	(void)state;
	assert_int_equal(steal__parse("cpu  1 2 3 4 5 6 7 8 9 10\n", &ticks), 0);
	assert_int_equal(ticks.steal, 8);
	assert_int_equal(ticks.all, 36); /* guests' time is in user's */
	assert_int_equal(steal__parse("cpu 1 2 3 4 5 6 7", &ticks), -EINVAL);
	assert_int_equal(steal__parse("intr 1 2 3 4 5 6 7 8", &ticks), -EINVAL);
}

static double share(unsigned long long steal, unsigned long long all)
{
	struct steal_ticks from = {.steal = 1000, .all = 30000000};
	struct steal_ticks to = {.steal = from.steal + steal, .all = from.all + all};

	return steal__share(&from, &to);
}

static void test_steal_share_is_of_all_time(void **state)
{
	(void)state;
	assert_true(share(0, STEAL_TICKS) == 0);
	assert_true(share(STEAL_TICKS, 4 * STEAL_TICKS) == 0.25);
	assert_true(share(STEAL_TICKS, STEAL_TICKS) == 1);
	assert_true(share(STEAL_TICKS + 1, STEAL_TICKS) == 1); /* another count ran backwards */
	assert_true(share(-1ULL, STEAL_TICKS) == 0);	       /* this one did */
	assert_true(share(1, STEAL_TICKS - 1) == STEAL_UNKNOWN);
	assert_true(share(0, -1ULL) == STEAL_UNKNOWN);
}

static void test_steal_share_is_of_the_window(void **state)
{
	struct steal s;
	unsigned int i;

	(void)state;
	steal__begin(&s);
	assert_true(s.share == STEAL_UNKNOWN);
	for (i = 0; i < 100 && s.share < 0; i++) { /* until ticks of the clock have passed */
		poll(NULL, 0, 10);
		steal__end(&s);
	}
	assert_true(s.share >= 0 && s.share <= 1);
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
		cmocka_unit_test(test_steal_time_is_the_eighth),
		cmocka_unit_test(test_steal_share_is_of_all_time),
		cmocka_unit_test(test_steal_share_is_of_the_window),
	};

	return cmocka_run_group_tests_name("analyzer parts", tests, NULL, NULL);
}
