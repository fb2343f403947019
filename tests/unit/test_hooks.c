// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The resolver: which mechanism a hook gets on which kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "user/hooks.h"

/* A kernel as a list of what it has. */
struct fake {
	const char *functions[8];
	struct tracepoint_need tracepoints[8];
	const char *refused;
	bool hides_code;
};

static bool has_function(const void *context, const char *name)
{
	const struct fake *k = context;
	size_t i;

	for (i = 0; k->functions[i]; i++)
		if (!strcmp(k->functions[i], name))
			return true;
	return false;
}

static bool has_code(const void *context, const char *name)
{
	(void)name;
	return !((const struct fake *)context)->hides_code;
}

static int tracepoint_args(const void *context, const char *name)
{
	const struct fake *k = context;
	size_t i;

	for (i = 0; k->tracepoints[i].name; i++)
		if (!strcmp(k->tracepoints[i].name, name))
			return k->tracepoints[i].args;
	return -1;
}

static const char *refused(const void *context)
{
	return ((const struct fake *)context)->refused;
}

static bool resolve(struct plan *plan, const struct fake *kernel, enum mechanism forced,
		    bool zerocopy)
{
	struct kernel_facts facts = {kernel, has_function, has_code, tracepoint_args, refused};

	return plan__resolve(plan, &facts, forced, zerocopy);
}

static const struct fake full = {
	.functions = {"tcp_sendmsg", "__msg_zerocopy_callback", "skb_copy_ubufs"},
	.tracepoints = {{"tcp_sendmsg_locked", 4},
			{"sock_send_length", 3},
			{"inet_sk_error_report", 1},
			{"consume_skb", 2},
			{"inet_sock_set_state", 3},
			{"skb_copy_datagram_iovec", 2},
			{"sys_enter", 2}},
};

/* Tracing programs refused, no sock_send_length, one argument to consume_skb. */
static const struct fake locked = {
	.tracepoints = {{"sys_enter", 2},
			{"sys_exit", 2},
			{"inet_sk_error_report", 1},
			{"consume_skb", 1},
			{"skb_copy_datagram_iovec", 2}},
	.refused = "refused by the test",
};

static void test_best_mechanism_wins(void **state)
{
	struct plan plan;
	enum hook_id id;

	(void)state;
	assert_true(resolve(&plan, &full, MECHANISM_NONE, true));
	assert_int_equal(plan__tier(&plan), MECHANISM_FENTRY);
	for (id = 0; id < HOOK_COUNT; id++)
		assert_int_equal(plan.entries[id].status, HOOK_PLANNED);
	assert_string_equal(plan.entries[HOOK_SEND].way->span, "tcp_sendmsg");
	assert_string_equal(plan.entries[HOOK_SEND].reason, "");
}

static void test_forced_tracepoint_takes_the_cheap_pair(void **state)
{
	struct plan plan;

	(void)state;
	assert_true(resolve(&plan, &full, MECHANISM_TRACEPOINT, true));
	assert_string_equal(plan.entries[HOOK_SEND].way->span, "tcp_sendmsg_locked..return");
	assert_string_equal(plan.entries[HOOK_COMPLETION].way->symbol,
			    "inet_sk_error_report, consume_skb");
	assert_int_equal(plan.entries[HOOK_SKB_COPY].status, HOOK_UNAVAILABLE);
	assert_string_equal(plan.entries[HOOK_SKB_COPY].reason, "no tracepoint sees it");
}

static void test_forced_fentry_keeps_hooks_that_only_tracepoints_have(void **state)
{
	struct plan plan;

	(void)state;
	assert_true(resolve(&plan, &full, MECHANISM_FENTRY, true));
	assert_int_equal(plan.entries[HOOK_RECEIVER_COPY].way->mechanism, MECHANISM_TRACEPOINT);
}

/* As on 7.x, which inlines the function: completions come from the tracepoints. */
static void test_forced_fentry_lets_other_hooks_fall_back(void **state)
{
	struct fake inlined = full;
	struct plan plan;

	(void)state;
	inlined.functions[1] = "skb_copy_ubufs";
	inlined.functions[2] = NULL;
	assert_true(resolve(&plan, &inlined, MECHANISM_FENTRY, true));
	assert_int_equal(plan__tier(&plan), MECHANISM_FENTRY);
	assert_string_equal(plan.entries[HOOK_COMPLETION].way->symbol,
			    "inet_sk_error_report, consume_skb");
}

static void test_forced_fentry_fails_where_it_is_refused(void **state)
{
	struct plan plan;

	(void)state;
	assert_false(resolve(&plan, &locked, MECHANISM_FENTRY, true));
	assert_string_equal(plan.entries[HOOK_SEND].reason, "refused by the test");
	assert_int_equal(plan__tier(&plan), MECHANISM_NONE);
}

static void test_locked_kernel_falls_back_and_says_what_it_misses(void **state)
{
	struct plan plan;

	(void)state;
	assert_true(resolve(&plan, &locked, MECHANISM_NONE, true));
	assert_string_equal(plan.entries[HOOK_SEND].way->span, "syscall");
	assert_non_null(strstr(plan.entries[HOOK_SEND].reason, "sees sendto"));
	assert_string_equal(plan.entries[HOOK_COMPLETION].way->symbol, "inet_sk_error_report");
	assert_non_null(strstr(plan.entries[HOOK_COMPLETION].reason, "merged notification"));
}

static void test_hidden_addresses_cost_the_exact_flag(void **state)
{
	struct fake hidden = full;
	struct plan plan;

	(void)state;
	hidden.hides_code = true;
	assert_true(resolve(&plan, &hidden, MECHANISM_TRACEPOINT, true));
	assert_string_equal(plan.entries[HOOK_COMPLETION].way->symbol, "inet_sk_error_report");
	assert_true(resolve(&plan, &hidden, MECHANISM_FENTRY, true));
	assert_string_equal(plan.entries[HOOK_COMPLETION].way->symbol, "__msg_zerocopy_callback");
}

static void test_nothing_there_gives_every_reason(void **state)
{
	static const struct fake empty = {.refused = NULL};
	struct plan plan;

	(void)state;
	assert_false(resolve(&plan, &empty, MECHANISM_NONE, true));
	assert_string_equal(plan.entries[HOOK_SEND].reason,
			    "this kernel has no function tcp_sendmsg; "
			    "this kernel has no tracepoint tcp_sendmsg_locked; "
			    "this kernel has no tracepoint sys_enter");
}

static void test_copying_loads_do_without_zerocopy_hooks(void **state)
{
	struct plan plan;

	(void)state;
	assert_true(resolve(&plan, &full, MECHANISM_NONE, false));
	assert_int_equal(plan.entries[HOOK_COMPLETION].status, HOOK_DISABLED);
	assert_int_equal(plan.entries[HOOK_SKB_COPY].status, HOOK_DISABLED);
	assert_null(plan.entries[HOOK_SKB_COPY].way);
	assert_int_equal(plan.entries[HOOK_RECEIVER_COPY].status, HOOK_PLANNED);
}

/* The table itself: every way has programs and an end to each list. */
static void test_table_is_sound(void **state)
{
	const struct hook_way *way;
	enum hook_id id;
	size_t i;

	(void)state;
	for (id = 0; id < HOOK_COUNT; id++) {
		assert_non_null(hook__get(id)->name);
		assert_non_null(hook__get(id)->purpose);
		for (i = 0; i < WAYS_MAX && hook__get(id)->ways[i].mechanism; i++) {
			way = &hook__get(id)->ways[i];
			assert_non_null(way->symbol);
			assert_non_null(way->programs[0]);
			assert_null(way->programs[3]);
			assert_null(way->functions[2]);
			assert_null(way->tracepoints[2].name);
			assert_true(!way->span == (id != HOOK_SEND));
		}
		assert_true(i > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_best_mechanism_wins),
		cmocka_unit_test(test_forced_tracepoint_takes_the_cheap_pair),
		cmocka_unit_test(test_forced_fentry_keeps_hooks_that_only_tracepoints_have),
		cmocka_unit_test(test_forced_fentry_lets_other_hooks_fall_back),
		cmocka_unit_test(test_forced_fentry_fails_where_it_is_refused),
		cmocka_unit_test(test_locked_kernel_falls_back_and_says_what_it_misses),
		cmocka_unit_test(test_hidden_addresses_cost_the_exact_flag),
		cmocka_unit_test(test_nothing_there_gives_every_reason),
		cmocka_unit_test(test_copying_loads_do_without_zerocopy_hooks),
		cmocka_unit_test(test_table_is_sound),
	};

	return cmocka_run_group_tests_name("hooks", tests, NULL, NULL);
}
