// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Tests groups of sends: the names of --by, and their sums. */
#include "tests/unit/unit.h"

#include "user/trace/groups.h"

#include <string.h>

static void test_lists(void **state)
{
	unsigned int by;

	assert_null(groups__parse("process", &by));
	assert_int_equal(by, BY_PROCESS);
	assert_null(groups__parse("port,device,process", &by));
	assert_int_equal(by, BY_PROCESS | BY_DEVICE | BY_PORT);
	assert_null(groups__parse("port,port", &by));
	assert_int_equal(by, BY_PORT);
}

static void test_bad_lists_are_refused(void **state)
{
	static const char *const bad[] = {"",	     ",",	    "process,", "Process",
					  "address", "port device", "portt"};
	unsigned int by;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_string_equal(groups__parse(bad[i], &by),
				    "give a list of process, device, port, cgroup");
}

static void test_names(void **state)
{
	assert_string_equal(group_by_name(BY_PROCESS), "process");
	assert_string_equal(group_by_name(BY_DEVICE), "device");
	assert_string_equal(group_by_name(BY_PORT), "port");
	assert_string_equal(group_by_name(BY_CGROUP), "cgroup");
}

static void test_paths(void **state)
{
	static const struct {
		struct cgroup_path path;
		const char *text;
	} cases[] = {
		{{true, ""}, "/"},
		{{true, "a/"}, "/a"},
		{{true, "session-1.scope/user@0.service/user.slice/"},
		 "/user.slice/user@0.service/session-1.scope"},
		{{false, "leaf/inner/"}, ""},
		{{false, ""}, ""},
	};
	struct cgroup_path full = {.whole = true};
	char text[CGROUP_TEXT_MAX];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		groups__path(&cases[i].path, text, sizeof(text));
		assert_string_equal(text, cases[i].text);
	}
	memset(full.names, 'x', sizeof(full.names) - 1);
	full.names[sizeof(full.names) - 2] = '/';
	groups__path(&full, text, sizeof(text));
	assert_int_equal(strlen(text), sizeof(full.names) - 1);
}

static void test_sums(void **state)
{
	struct group a = {.sends = 1, .bytes = 2, .copied = 3, .comm = "a"};
	struct group b = {.sends = 10, .bytes = 20, .copied = 30, .ns = 5, .comm = "b"};

	group__add(&a, &b);
	assert_int_equal(a.sends, 11);
	assert_int_equal(a.bytes, 22);
	assert_int_equal(a.copied, 33);
	assert_int_equal(a.ns, 5);
	assert_string_equal(a.comm, "a");
}

static void test_differences(void **state)
{
	struct group a = {.sends = 11, .unflagged = 2, .copied = 3, .comm = "a"}, same = a;
	struct group b = {.sends = 10, .unflagged = 3, .copied = 3, .pid = 7};

	assert_true(group__subtract(&a, &b));
	assert_int_equal(a.sends, 1);
	assert_int_equal((__s64)a.unflagged, -1);
	assert_int_equal(a.copied, 0);
	assert_int_equal(a.pid, 0);
	assert_string_equal(a.comm, "a");
	assert_false(group__subtract(&same, &same));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists), cmocka_unit_test(test_bad_lists_are_refused),
		cmocka_unit_test(test_names), cmocka_unit_test(test_paths),
		cmocka_unit_test(test_sums),  cmocka_unit_test(test_differences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
