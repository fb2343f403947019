// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Groups of sends: what is asked for, in which order they stand, their addresses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "user/trace/groups.h"

static void test_lists(void **state)
{
	unsigned int by;

	(void)state;
	assert_null(groups__parse("process", &by));
	assert_int_equal(by, BY_PROCESS);
	assert_null(groups__parse("port,device,process", &by));
	assert_int_equal(by, BY_PROCESS | BY_DEVICE | BY_PORT);
	assert_null(groups__parse("port,port", &by));
	assert_int_equal(by, BY_PORT);
}

static void test_what_is_no_list(void **state)
{
	static const char *const bad[] = {"",	     ",",	    "process,", "Process",
					  "address", "port device", "portt"};
	unsigned int by;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_string_equal(groups__parse(bad[i], &by),
				    "give a list of process, device, port");
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(group_by_name(BY_PROCESS), "process");
	assert_string_equal(group_by_name(BY_DEVICE), "device");
	assert_string_equal(group_by_name(BY_PORT), "port");
}

static struct groups three(void)
{
	struct groups g = {.rows = calloc(3, sizeof(*g.rows)), .count = 3};

	g.rows[0] = (struct group_row){{.port = 3}, {.bytes = 10, .requests = 5}};
	g.rows[1] = (struct group_row){{.port = 2}, {.bytes = 30, .requests = 1}};
	g.rows[2] = (struct group_row){{.port = 1}, {.bytes = 10, .requests = 9}};
	return g;
}

static void test_the_largest_comes_first(void **state)
{
	struct groups g = three();

	(void)state;
	groups__sort(&g, false);
	assert_int_equal(g.rows[0].key.port, 2);
	assert_int_equal(g.rows[1].key.port, 1); /* of equals always the same */
	assert_int_equal(g.rows[2].key.port, 3);
	groups__sort(&g, true);
	assert_int_equal(g.rows[0].key.port, 1);
	assert_int_equal(g.rows[2].key.port, 2);
	groups__free(&g);
	assert_null(g.rows);
	groups__sort(&g, false);
}

static void test_sums(void **state)
{
	struct group a = {.sends = 1, .bytes = 2, .copied = 3, .comm = "a"};
	struct group b = {.sends = 10, .bytes = 20, .copied = 30, .ns = 5, .comm = "b"};

	(void)state;
	group__add(&a, &b);
	assert_int_equal(a.sends, 11);
	assert_int_equal(a.bytes, 22);
	assert_int_equal(a.copied, 33);
	assert_int_equal(a.ns, 5);
	assert_string_equal(a.comm, "a");
}

static void test_addresses(void **state)
{
	const __u32 v4[4] = {htonl(0x0a000002)};
	const __u32 v6[4] = {htonl(0xfe800000), 0, 0, htonl(1)};
	char text[INET6_ADDRSTRLEN];

	(void)state;
	assert_string_equal(group__address(AF_INET, v4, text), "10.0.0.2");
	assert_string_equal(group__address(AF_INET6, v6, text), "fe80::1");
	assert_null(group__address(0, v4, text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists), cmocka_unit_test(test_what_is_no_list),
		cmocka_unit_test(test_names), cmocka_unit_test(test_the_largest_comes_first),
		cmocka_unit_test(test_sums),  cmocka_unit_test(test_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
