// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Tests the options for observed programs, and the command that an observation starts. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "user/system/child.h"
#include "user/trace/target.h"

static void test_process_ids(void **state)
{
	struct target t = {};
	char text[64];

	assert_null(target__set(&t, TARGET_PROCESS, "17,4,17"));
	assert_true(t.given);
	assert_int_equal(t.by, TARGET_PROCESS);
	assert_int_equal(t.pid_count, 2);
	assert_int_equal(t.pids[1], 4);
	target__text(&t, text, sizeof(text));
	assert_string_equal(text, "pid 17, 4");
}

static void test_bad_process_ids_are_refused(void **state)
{
	static const char *const lists[] = {"", ",", "0", "-1", "nginx", "1,x", "99999999999"};
	size_t i;

	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		struct target t = {};

		assert_non_null(target__set(&t, TARGET_PROCESS, lists[i]));
	}
}

static void test_too_many_process_ids(void **state)
{
	struct target t = {};
	char list[8 * (TARGET_PIDS_MAX + 1)] = "1";

	for (int pid = 2; pid <= TARGET_PIDS_MAX + 1; pid++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), ",%d", pid);
	assert_non_null(strstr(target__set(&t, TARGET_PROCESS, list), "at most 64"));
}

static void test_names(void **state)
{
	struct target t = {}, empty = {}, longer = {};
	char text[64];

	assert_null(target__set(&t, TARGET_COMM, "fifteen-letters"));
	target__text(&t, text, sizeof(text));
	assert_string_equal(text, "processes named fifteen-letters");
	assert_non_null(target__set(&empty, TARGET_COMM, ""));
	assert_non_null(target__set(&longer, TARGET_COMM, "sixteen-letters-"));
}

static void test_only_one_can_be_given(void **state)
{
	struct target t = {};

	assert_null(target__set(&t, TARGET_ALL, NULL));
	assert_non_null(target__set(&t, TARGET_CGROUP, "/sys/fs/cgroup"));
	assert_non_null(target__set(&t, TARGET_PROCESS, "1"));
	assert_int_equal(t.by, TARGET_ALL);
}

static void test_a_long_command_is_cut(void **state)
{
	char *command[] = {"program", "argument", "another", NULL}, text[20];
	struct target t = {};

	assert_null(target__set_command(&t, command));
	target__text(&t, text, sizeof(text));
	assert_string_equal(text, "command program arg");
}

static int wait_for(struct child *c)
{
	struct pollfd end = {.fd = c->pidfd, .events = POLLIN};

	assert_int_equal(poll(&end, 1, 10000), 1);
	assert_true(child__ended(c));
	return child__exit_status(c);
}

static void test_a_command_waits_until_it_may_run(void **state)
{
	char *command[] = {"sh", "-c", "exit 7", NULL};
	struct child c;

	assert_int_equal(child__start(&c, command), 0);
	assert_false(child__ended(&c));
	assert_int_equal(child__run(&c), 0);
	assert_int_equal(wait_for(&c), 7);
	child__free(&c);
}

static void test_a_signal_is_a_status_as_in_a_shell(void **state)
{
	char *command[] = {"sh", "-c", "kill -TERM $$", NULL};
	struct child c;

	assert_int_equal(child__start(&c, command), 0);
	assert_int_equal(child__run(&c), 0);
	assert_int_equal(wait_for(&c), 128 + SIGTERM);
	child__free(&c);
}

static void test_what_cannot_be_executed(void **state)
{
	char *command[] = {"/no/such/program", NULL};
	struct child c;

	assert_int_equal(child__start(&c, command), 0);
	assert_int_equal(child__run(&c), -ENOENT);
	assert_int_equal(wait_for(&c), 127);
	child__free(&c);
}

static void test_a_command_that_never_ran_ends_with_us(void **state)
{
	char *command[] = {"sh", "-c", "exit 0", NULL};
	struct child c;

	assert_int_equal(child__start(&c, command), 0);
	child__free(&c);
	assert_int_equal(kill(c.pid, 0), -1);
	assert_int_equal(errno, ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_process_ids),
		cmocka_unit_test(test_bad_process_ids_are_refused),
		cmocka_unit_test(test_too_many_process_ids),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_only_one_can_be_given),
		cmocka_unit_test(test_a_long_command_is_cut),
		cmocka_unit_test(test_a_command_waits_until_it_may_run),
		cmocka_unit_test(test_a_signal_is_a_status_as_in_a_shell),
		cmocka_unit_test(test_what_cannot_be_executed),
		cmocka_unit_test(test_a_command_that_never_ran_ends_with_us),
	};

	return cmocka_run_group_tests_name("target", tests, NULL, NULL);
}
