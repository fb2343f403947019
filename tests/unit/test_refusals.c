// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Tests which limit refused a zero-copy send, for the machine's page size. */
#include "tests/unit/unit.h"

#include "native/maps.h"

#define KIB 1024UL

/* Returns whether a user with `locked` bytes would exceed the limit by a send of `bytes`. */
static bool exhausted(__u32 shift, __u64 limit, __u64 locked, __u64 bytes)
{
	static struct user_struct user;
	static struct user_namespace initial;
	static struct cred cred = {.user = &user, .user_ns = &initial};
	static struct signal_struct signal;

	page_shift = shift;
	user.locked_vm.counter = (__s64)(locked >> shift);
	signal.rlim[RLIMIT_MEMLOCK].rlim_cur = limit;
	native_task.cred = &cred;
	native_task.signal = &signal;
	return memlock_exhausted(bytes);
}

static void test_memlock_is_counted_in_pages(void **state)
{
	static const __u32 shifts[] = {12, 14, 16};
	__u64 page;
	size_t i;

	for (i = 0; i < sizeof(shifts) / sizeof(shifts[0]); i++) {
		page = 1UL << shifts[i];
		/* A send of a page is charged up to three pages. */
		assert_false(exhausted(shifts[i], 8 * page, 5 * page, page));
		assert_true(exhausted(shifts[i], 8 * page, 6 * page, page));
	}
	assert_false(exhausted(12, 256 * KIB, 128 * KIB, 64 * KIB));
	assert_true(exhausted(16, 256 * KIB, 128 * KIB, 64 * KIB));
	assert_false(exhausted(16, RLIM_INFINITY, 128 * KIB, 64 * KIB));
}

/* The kernel does not check for CAP_IPC_LOCK of a user namespace. */
static void test_capabilities_count_in_the_initial_namespace(void **state)
{
	struct user_namespace namespace = {};
	struct cred cred = {.user_ns = &namespace};
	__u64 all = ~0ULL;

	memcpy(&cred.cap_effective, &all, sizeof(cred.cap_effective));
	assert_true(may_lock(&cred));
	namespace.level = 1;
	assert_false(may_lock(&cred));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memlock_is_counted_in_pages),
		cmocka_unit_test(test_capabilities_count_in_the_initial_namespace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
