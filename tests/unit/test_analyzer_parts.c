// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Tests small pure parts of the analyzer: names. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/program.h"
#include "user/kernel/causes.h"

static void test_untrusted_names_are_escaped(void **state)
{
	char out[32];

	assert_string_equal(safe_text("eth0", out, sizeof(out)), "eth0");
	assert_string_equal(safe_text("a\x1b[2J\n\\", out, sizeof(out)), "a\\x1b[2J\\x0a\\");
	assert_string_equal(safe_text("\xff", out, sizeof(out)), "\\xff");
}

static void test_untrusted_names_are_cut_whole(void **state)
{
	char out[8];

	safe_text("\x01\x01\x01", out, sizeof(out));
	assert_string_equal(out, "\\x01");
}

static void test_every_call_has_a_name(void **state)
{
	int kind, other;

	for (kind = 0; kind < CALL_KINDS; kind++)
		for (other = 0; other < kind; other++)
			if (kind != CALL_IO_URING_ZC) /* same syscall as CALL_IO_URING */
				assert_string_not_equal(call_name(kind), call_name(other));
}

static void test_errors_have_names(void **state)
{
	assert_string_equal(call_error_name(EAGAIN), "EAGAIN");
	assert_string_equal(call_error_name(ENOBUFS), "ENOBUFS");
	assert_string_equal(call_error_name(ERRNO_RESTART), "ERESTARTSYS");
	assert_string_equal(call_error_name(0), "other");
	assert_string_equal(call_error_name(ERRNO_SLOTS), "other");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_untrusted_names_are_escaped),
		cmocka_unit_test(test_untrusted_names_are_cut_whole),
		cmocka_unit_test(test_every_call_has_a_name),
		cmocka_unit_test(test_errors_have_names),
	};

	return cmocka_run_group_tests_name("analyzer parts", tests, NULL, NULL);
}
