// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Tests the resolver: which mechanism a hook gets on which kernel. */
#include "tests/unit/unit.h"

#include <string.h>

#include "user/kernel/plan.h"

/* A kernel, as a list of its features. */
struct features {
	const char *functions[32]; /* functions in the kernel's code and BTF */
	struct {
		const char *name, *variant;
	} variants[4];
	struct tracepoint_need tracepoints[16];
	const char *fentry_refused, *kprobe_refused;
	bool no_types, hides_code, preempts, graph;
};

static void function(const struct features *k, const char *name, struct kernel_function *f)
{
	size_t i;

	memset(f, 0, sizeof(*f));
	for (i = 0; k->functions[i]; i++)
		if (!strcmp(k->functions[i], name))
			f->code = f->typed = true;
	for (i = 0; k->variants[i].name; i++)
		if (!strcmp(k->variants[i].name, name))
			strcpy(f->variant, k->variants[i].variant);
}

static bool has_code(const struct features *k, const char *name)
{
	(void)name;
	return !k->hides_code;
}

static int tracepoint_args(const struct features *k, const char *name)
{
	size_t i;

	for (i = 0; k->tracepoints[i].name; i++)
		if (!strcmp(k->tracepoints[i].name, name))
			return k->tracepoints[i].args;
	return -1;
}

static bool has_type(const struct features *k, const char *name)
{
	(void)name;
	return !k->no_types;
}

static struct kernel_facts facts_of(const struct features *k)
{
	return (struct kernel_facts){
		.features = k,
		.function = function,
		.has_code = has_code,
		.tracepoint_args = tracepoint_args,
		.has_type = has_type,
		.refused = {[MECHANISM_FENTRY] = k->fentry_refused,
			    [MECHANISM_KPROBE] = k->kprobe_refused},
		.preempts = k->preempts,
		.graph_probes = k->graph,
	};
}

static struct plan plan; /* the result of the most recent resolve() */

static bool resolve(const struct features *kernel, enum mechanism forced, unsigned int what)
{
	struct kernel_facts facts = facts_of(kernel);

	return plan__resolve(&plan, &facts, forced, what);
}

static const struct features full = {
	.functions = {"tcp_sendmsg",
		      "__msg_zerocopy_callback",
		      "skb_copy_ubufs",
		      "skb_segment",
		      "__pskb_pull_tail",
		      "skb_copy",
		      "msg_zerocopy_realloc",
		      "sock_dequeue_err_skb",
		      "inet_recv_error",
		      "io_tx_ubuf_complete",
		      "skb_pp_cow_data",
		      "__x64_sys_sendto",
		      "__x64_sys_sendmsg",
		      "__x64_sys_write",
		      "__x64_sys_writev",
		      "tcp_stream_alloc_skb",
		      "sk_page_frag_refill",
		      "tcp_sendmsg_locked",
		      "skb_zerocopy_iter_stream",
		      "tcp_write_xmit",
		      "msg_zerocopy_callback",
		      "sk_stream_wait_memory",
		      "sock_def_error_report",
		      "skb_copy_datagram_iter"},
	.tracepoints = {{"tcp_sendmsg_locked", 4},
			{"softirq_entry", 1},
			{"softirq_exit", 1},
			{"sched_switch", 3},
			{"sock_send_length", 3},
			{"inet_sk_error_report", 1},
			{"consume_skb", 2},
			{"inet_sock_set_state", 3},
			{"net_dev_queue", 1},
			{"net_dev_start_xmit", 2},
			{"netif_receive_skb", 1},
			{"skb_copy_datagram_iovec", 2},
			{"sys_enter", 2},
			{"io_uring_complete", 3}},
};

/*
 * A kernel that refuses fentry and kprobes, has no sock_send_length, and whose consume_skb has one
 * argument.
 */
static const struct features locked = {
	.tracepoints = {{"sys_enter", 2},
			{"sys_exit", 2},
			{"inet_sk_error_report", 1},
			{"consume_skb", 1},
			{"skb_copy_datagram_iovec", 2}},
	.fentry_refused = "fentry refused by the test",
	.kprobe_refused = "kprobes refused by the test",
};

/* Replaces a function by another; "": removes it. */
static void replace_function(struct features *k, const char *name, const char *other)
{
	size_t i;

	for (i = 0; k->functions[i] && strcmp(k->functions[i], name); i++)
		;
	assert_non_null(k->functions[i]);
	k->functions[i] = other;
}

static void replace_tracepoint(struct features *k, const char *name, struct tracepoint_need other)
{
	size_t i;

	for (i = 0; k->tracepoints[i].name && strcmp(k->tracepoints[i].name, name); i++)
		;
	assert_non_null(k->tracepoints[i].name);
	k->tracepoints[i] = other;
}

static void add_variant(struct features *k, const char *name, const char *variant)
{
	assert_null(k->variants[0].name);
	k->variants[0].name = name;
	k->variants[0].variant = variant;
}

static void test_best_mechanism_wins(void **state)
{
	enum hook_id id;

	assert_true(resolve(&full, MECHANISM_NONE, PLAN_OBSERVATION | PLAN_STAGES));
	assert_int_equal(plan__mechanism(&plan), MECHANISM_FENTRY);
	for (id = 0; id < HOOK_COUNT; id++)
		assert_int_equal(plan.entries[id].status,
				 id == HOOK_PACKET ? HOOK_DISABLED : HOOK_PLANNED);
	assert_string_equal(plan.entries[HOOK_SEND].option->span, "tcp_sendmsg");
	assert_string_equal(plan.entries[HOOK_SEND].reason, "");
}

static void test_forced_tracepoint_takes_the_cheap_pair(void **state)
{
	assert_true(resolve(&full, MECHANISM_TRACEPOINT, PLAN_ZEROCOPY_LOAD));
	assert_string_equal(plan.entries[HOOK_SEND].option->span, "tcp_sendmsg_locked..return");
	assert_string_equal(plan.entries[HOOK_COMPLETION].symbol,
			    "inet_sk_error_report, consume_skb");
	assert_non_null(strstr(plan.entries[HOOK_SKB_COPY].reason, "from the packet's path"));
	assert_int_equal(plan.entries[HOOK_SKB_PULL].status, HOOK_UNAVAILABLE);
	assert_string_equal(plan.entries[HOOK_SKB_PULL].reason, "no tracepoint sees it");
}

static void test_forced_fentry_keeps_hooks_that_only_tracepoints_have(void **state)
{
	assert_true(resolve(&full, MECHANISM_FENTRY, PLAN_ZEROCOPY_LOAD));
	assert_int_equal(plan.entries[HOOK_RECEIVER_COPY].option->mechanism, MECHANISM_TRACEPOINT);
}

/* Linux 7 inlines the completion function, so the tracepoints report completions. */
static void test_forced_fentry_lets_other_hooks_fall_back(void **state)
{
	struct features inlined = full;

	replace_function(&inlined, "__msg_zerocopy_callback", "");
	assert_true(resolve(&inlined, MECHANISM_FENTRY, PLAN_ZEROCOPY_LOAD));
	assert_int_equal(plan__mechanism(&plan), MECHANISM_FENTRY);
	assert_string_equal(plan.entries[HOOK_COMPLETION].symbol,
			    "inet_sk_error_report, consume_skb");
}

static void test_forced_fentry_fails_where_it_is_refused(void **state)
{
	assert_false(resolve(&locked, MECHANISM_FENTRY, PLAN_ZEROCOPY_LOAD));
	assert_string_equal(plan.entries[HOOK_SEND].reason, "fentry refused by the test");
	assert_int_equal(plan__mechanism(&plan), MECHANISM_NONE);
}

static void test_locked_kernel_falls_back_and_names_what_it_misses(void **state)
{
	assert_true(resolve(&locked, MECHANISM_NONE, PLAN_ZEROCOPY_LOAD));
	assert_string_equal(plan.entries[HOOK_SEND].option->span, "syscall");
	assert_non_null(strstr(plan.entries[HOOK_SEND].reason, "sees sendto"));
	assert_string_equal(plan.entries[HOOK_COMPLETION].option->programs[1],
			    "notification_freed_in_stack");
	assert_string_equal(plan.entries[HOOK_COMPLETION].reason, "");
}

static void test_hidden_addresses_cost_the_exact_flag(void **state)
{
	struct features hidden = full;

	hidden.hides_code = true;
	assert_true(resolve(&hidden, MECHANISM_TRACEPOINT, PLAN_ZEROCOPY_LOAD));
	assert_string_equal(plan.entries[HOOK_COMPLETION].symbol,
			    "inet_sk_error_report, consume_skb");
	assert_non_null(strstr(plan.entries[HOOK_COMPLETION].reason, "coalesced notification"));
	assert_true(resolve(&hidden, MECHANISM_FENTRY, PLAN_ZEROCOPY_LOAD));
	assert_string_equal(plan.entries[HOOK_COMPLETION].symbol, "__msg_zerocopy_callback");
}

/* Linux 7 has no function that is called once per completion, and it preempts programs. */
static void test_references_report_completions_without_a_function_for_the_last(void **state)
{
	struct features kernel = full;

	replace_function(&kernel, "__msg_zerocopy_callback", "msg_zerocopy_complete");
	kernel.preempts = true;
	assert_true(resolve(&kernel, MECHANISM_NONE, PLAN_ZEROCOPY_LOAD));
	assert_string_equal(plan.entries[HOOK_COMPLETION].symbol, "msg_zerocopy_complete");
	assert_string_equal(plan.entries[HOOK_COMPLETION].reason, "");
	assert_true(resolve(&kernel, MECHANISM_TRACEPOINT, PLAN_ZEROCOPY_LOAD));
	assert_string_equal(plan.entries[HOOK_COMPLETION].symbol,
			    "inet_sk_error_report, consume_skb");
}

static void test_nothing_there_gives_every_reason(void **state)
{
	static const struct features empty = {.hides_code = true};

	assert_false(resolve(&empty, MECHANISM_NONE, PLAN_ZEROCOPY_LOAD));
	assert_string_equal(plan.entries[HOOK_SEND].reason,
			    "this kernel has no function tcp_sendmsg; "
			    "this kernel makes no kprobes by the function graph tracer; "
			    "this kernel has no tracepoint tcp_sendmsg_locked; "
			    "this kernel has no tracepoint sys_enter");
}

static void test_a_second_way_in(void **state)
{
	struct features kernel = full;
	const char *symbol;

	assert_true(resolve(&kernel, MECHANISM_NONE, true));
	assert_false(plan.entries[HOOK_SEND].also);
	assert_null(plan_entry__program(&plan.entries[HOOK_SEND], 2, &symbol));
	replace_function(&kernel, "skb_copy_datagram_iter", "tcp_sendpage");
	assert_true(resolve(&kernel, MECHANISM_NONE, true));
	assert_true(plan.entries[HOOK_SEND].also);
	assert_string_equal(plan_entry__program(&plan.entries[HOOK_SEND], 1, &symbol),
			    "send_fexit");
	assert_string_equal(symbol, "tcp_sendmsg");
	assert_string_equal(plan_entry__program(&plan.entries[HOOK_SEND], 3, &symbol),
			    "sendpage_fexit");
	assert_string_equal(symbol, "tcp_sendpage");
	assert_null(plan_entry__program(&plan.entries[HOOK_SEND], 4, &symbol));
	plan.entries[HOOK_SEND].option = NULL;
	plan.entries[HOOK_SEND].also = false;
	assert_null(plan_entry__program(&plan.entries[HOOK_SEND], 0, &symbol));
}

static void test_completions_of_io_uring_need_its_zero_copy(void **state)
{
	struct features kernel = full;

	kernel.fentry_refused = kernel.kprobe_refused = "refused by the test";
	assert_true(resolve(&kernel, MECHANISM_NONE, true));
	assert_int_equal(plan.entries[HOOK_URING].option->mechanism, MECHANISM_TRACEPOINT);
	kernel.no_types = true;
	assert_true(resolve(&kernel, MECHANISM_NONE, true));
	assert_null(plan.entries[HOOK_URING].option);
	assert_non_null(strstr(plan.entries[HOOK_URING].reason, "no struct io_notif_data"));
}

static void test_copying_loads_do_without_zerocopy_hooks(void **state)
{
	assert_true(resolve(&full, MECHANISM_NONE, PLAN_COPYING_LOAD));
	assert_int_equal(plan.entries[HOOK_COMPLETION].status, HOOK_DISABLED);
	assert_int_equal(plan.entries[HOOK_SKB_COPY].status, HOOK_DISABLED);
	assert_null(plan.entries[HOOK_SKB_COPY].option);
	assert_int_equal(plan.entries[HOOK_RECEIVER_COPY].status, HOOK_PLANNED);
}

/* The hook is for observations: a load makes no such sends, and tracepoints see them anyway. */
static void test_sends_over_tcp_are_hooked_where_they_may_be(void **state)
{
	assert_true(resolve(&full, MECHANISM_FENTRY, PLAN_OBSERVATION));
	assert_int_equal(plan.entries[HOOK_SEND_OVER].status, HOOK_PLANNED);
	assert_true(resolve(&full, MECHANISM_FENTRY, PLAN_ZEROCOPY_LOAD));
	assert_int_equal(plan.entries[HOOK_SEND_OVER].status, HOOK_DISABLED);
	assert_true(resolve(&full, MECHANISM_TRACEPOINT, PLAN_OBSERVATION));
	assert_int_equal(plan.entries[HOOK_SEND_OVER].status, HOOK_DISABLED);
}

static void test_kprobes_replace_refused_tracing_programs(void **state)
{
	struct features kernel = full;

	kernel.fentry_refused = "refused";
	assert_true(resolve(&kernel, MECHANISM_NONE, PLAN_ZEROCOPY_LOAD));
	assert_int_equal(plan__mechanism(&plan), MECHANISM_KPROBE);
	assert_string_equal(plan.entries[HOOK_SEND].option->span, "tcp_sendmsg");
	assert_non_null(strstr(plan.entries[HOOK_SEND].reason, "return probes"));
	kernel.graph = true;
	assert_true(resolve(&kernel, MECHANISM_NONE, PLAN_ZEROCOPY_LOAD));
	assert_string_equal(plan.entries[HOOK_SEND].reason, "");
	/* The exact tracepoints are better than a kprobe that interrupts can lose. */
	assert_int_equal(plan.entries[HOOK_COMPLETION].option->mechanism, MECHANISM_TRACEPOINT);
	assert_int_equal(plan.entries[HOOK_SKB_COPY].option->mechanism, MECHANISM_KPROBE);
	assert_non_null(strstr(plan.entries[HOOK_SKB_COPY].reason, "interrupts"));
}

/* A preemptible kernel skips a program while another thread is preempted inside it. */
static void test_a_preemptible_kernel_gets_kprobes_where_threads_run(void **state)
{
	struct features kernel = full;

	kernel.preempts = kernel.graph = true;
	assert_true(resolve(&kernel, MECHANISM_NONE, PLAN_ZEROCOPY_LOAD));
	assert_int_equal(plan__mechanism(&plan), MECHANISM_KPROBE);
	assert_string_equal(plan.entries[HOOK_SEND].reason, "");
	assert_int_equal(plan.entries[HOOK_RECEIVER_COPY].option->mechanism, MECHANISM_KPROBE);
	/* Completions mostly happen in interrupts, which are not preempted. */
	assert_int_equal(plan.entries[HOOK_COMPLETION].option->mechanism, MECHANISM_FENTRY);
	assert_true(resolve(&kernel, MECHANISM_FENTRY, PLAN_ZEROCOPY_LOAD));
	assert_int_equal(plan__mechanism(&plan), MECHANISM_FENTRY);
	assert_non_null(strstr(plan.entries[HOOK_SEND].reason, "preempts"));
	kernel.kprobe_refused = "refused";
	assert_true(resolve(&kernel, MECHANISM_NONE, PLAN_ZEROCOPY_LOAD));
	assert_int_equal(plan__mechanism(&plan), MECHANISM_FENTRY);
	assert_non_null(strstr(plan.entries[HOOK_SEND].reason, "preempts"));
}

static void test_forced_kprobe_never_uses_fentry(void **state)
{
	enum hook_id id;

	assert_true(resolve(&full, MECHANISM_KPROBE, PLAN_OBSERVATION | PLAN_STAGES));
	assert_int_equal(plan__mechanism(&plan), MECHANISM_KPROBE);
	for (id = 0; id < HOOK_COUNT; id++)
		if (id != HOOK_PACKET)
			assert_int_not_equal(plan.entries[id].option->mechanism, MECHANISM_FENTRY);
}

static void test_stages_are_hooked_on_request(void **state)
{
	enum hook_id id;

	assert_true(resolve(&full, MECHANISM_NONE, PLAN_ZEROCOPY_LOAD));
	for (id = 0; id < HOOK_COUNT; id++)
		if (hook__get(id)->stages_only)
			assert_non_null(strstr(plan.entries[id].reason, "--stages"));
	/* A load that never requests zero-copy pins nothing. */
	assert_true(resolve(&full, MECHANISM_NONE, PLAN_COPYING_LOAD | PLAN_STAGES));
	assert_int_equal(plan.entries[HOOK_STAGE_PIN].status, HOOK_DISABLED);
	assert_int_equal(plan.entries[HOOK_STAGE_COPY].status, HOOK_PLANNED);
	/* Tracepoints show interrupts of a send, and switches away from it. */
	assert_true(resolve(&full, MECHANISM_TRACEPOINT, PLAN_COPYING_LOAD | PLAN_STAGES));
	assert_int_equal(plan.entries[HOOK_STAGE_COPY].status, HOOK_UNAVAILABLE);
	assert_int_equal(plan.entries[HOOK_SOFTIRQ].status, HOOK_PLANNED);
	assert_int_equal(plan.entries[HOOK_SWITCH].status, HOOK_PLANNED);
}

static void test_packets_are_identified_by_the_port_of_a_load(void **state)
{
	assert_true(resolve(&full, MECHANISM_NONE, PLAN_COPYING_LOAD | PLAN_PACKETS));
	assert_int_equal(plan.entries[HOOK_PACKET].status, HOOK_PLANNED);
	assert_true(resolve(&full, MECHANISM_NONE, PLAN_COPYING_LOAD));
	assert_non_null(strstr(plan.entries[HOOK_PACKET].reason, "--packets"));
	assert_true(resolve(&full, MECHANISM_NONE, PLAN_OBSERVATION | PLAN_PACKETS));
	assert_int_equal(plan.entries[HOOK_PACKET].status, HOOK_DISABLED);
}

static void test_none_turns_every_hook_off(void **state)
{
	enum hook_id id;

	assert_true(resolve(&full, MECHANISM_OFF, PLAN_ZEROCOPY_LOAD));
	assert_int_equal(plan__mechanism(&plan), MECHANISM_OFF);
	for (id = 0; id < HOOK_COUNT; id++) {
		assert_int_equal(plan.entries[id].status, HOOK_DISABLED);
		assert_string_equal(plan.entries[id].reason, "turned off by --mechanism none");
	}
}

static void test_a_function_is_found_by_its_older_name(void **state)
{
	struct features kernel = full;

	replace_function(&kernel, "__msg_zerocopy_callback", "sock_zerocopy_callback");
	assert_true(resolve(&kernel, MECHANISM_NONE, PLAN_ZEROCOPY_LOAD));
	assert_string_equal(plan.entries[HOOK_COMPLETION].symbol, "sock_zerocopy_callback");
	assert_int_equal(plan.entries[HOOK_COMPLETION].option->mechanism, MECHANISM_FENTRY);
	assert_string_equal(plan.entries[HOOK_COMPLETION].reason, "");
}

/* The send hook's program also keeps the send ids, so ids are known only where it is attached. */
static void test_ids_come_with_the_sends(void **state)
{
	struct features kernel = full;

	assert_true(resolve(&kernel, MECHANISM_TRACEPOINT, PLAN_ZEROCOPY_LOAD));
	assert_string_equal(plan.entries[HOOK_SEND_ID].symbol, "tcp_sendmsg_locked");
	assert_string_equal(plan.entries[HOOK_SEND_ID].reason, "");
	replace_tracepoint(&kernel, "tcp_sendmsg_locked", (struct tracepoint_need){"sys_exit", 2});
	assert_true(resolve(&kernel, MECHANISM_TRACEPOINT, PLAN_ZEROCOPY_LOAD));
	assert_string_equal(plan.entries[HOOK_SEND_ID].symbol, "sys_enter");
	assert_non_null(strstr(plan.entries[HOOK_SEND_ID].reason, "inferred"));
	replace_function(&kernel, "msg_zerocopy_realloc", "sock_zerocopy_realloc");
	assert_true(resolve(&kernel, MECHANISM_NONE, PLAN_ZEROCOPY_LOAD));
	assert_string_equal(plan.entries[HOOK_SEND_ID].symbol, "sock_zerocopy_realloc");
	replace_function(&kernel, "sock_zerocopy_realloc", "");
	assert_true(resolve(&kernel, MECHANISM_NONE, PLAN_ZEROCOPY_LOAD));
	assert_int_equal(plan.entries[HOOK_SEND_ID].status, HOOK_UNAVAILABLE);
}

static void test_reading_is_timed_by_functions_only(void **state)
{
	assert_true(resolve(&full, MECHANISM_TRACEPOINT, PLAN_ZEROCOPY_LOAD));
	assert_int_equal(plan.entries[HOOK_ERROR_READ].status, HOOK_UNAVAILABLE);
	assert_string_equal(plan.entries[HOOK_ERROR_READ].reason, "no tracepoint sees it");
	assert_true(plan.entries[HOOK_ERROR_QUEUE].option->by_queue);
	assert_true(resolve(&full, MECHANISM_NONE, PLAN_ZEROCOPY_LOAD));
	assert_string_equal(plan.entries[HOOK_ERROR_READ].symbol, "inet_recv_error");
	assert_false(plan.entries[HOOK_ERROR_QUEUE].option->by_queue);
}

/* Some callers use the compiler's variant. Their calls are missed; the plan warns of that. */
static void test_a_variant_beside_the_function_is_reported(void **state)
{
	struct features kernel = full;

	add_variant(&kernel, "tcp_sendmsg", "tcp_sendmsg.constprop.0");
	assert_true(resolve(&kernel, MECHANISM_NONE, PLAN_ZEROCOPY_LOAD));
	assert_string_equal(plan.entries[HOOK_SEND].symbol, "tcp_sendmsg");
	assert_string_equal(plan.entries[HOOK_SEND].reason,
			    "calls that the compiler sent to tcp_sendmsg.constprop.0 are not seen");
}

/* The compiler's variant has the arguments in other places, so no mechanism can use it. */
static void test_a_variant_instead_of_the_function_is_refused_by_name(void **state)
{
	struct features kernel = full;

	replace_function(&kernel, "skb_copy", "");
	add_variant(&kernel, "skb_copy", "skb_copy.isra.0");
	assert_true(resolve(&kernel, MECHANISM_NONE, PLAN_ZEROCOPY_LOAD));
	assert_int_equal(plan.entries[HOOK_SKB_DUPLICATE].status, HOOK_UNAVAILABLE);
	assert_string_equal(plan.entries[HOOK_SKB_DUPLICATE].reason,
			    "this kernel has skb_copy only as skb_copy.isra.0");
}

static void test_a_renamed_function_with_its_own_arguments_is_found(void **state)
{
	struct features kernel = full;

	replace_function(&kernel, "skb_copy", "");
	add_variant(&kernel, "skb_copy", "skb_copy.llvm.1234567");
	assert_true(resolve(&kernel, MECHANISM_NONE, PLAN_ZEROCOPY_LOAD));
	assert_int_equal(plan.entries[HOOK_SKB_DUPLICATE].option->mechanism, MECHANISM_KPROBE);
	assert_string_equal(plan.entries[HOOK_SKB_DUPLICATE].symbol, "skb_copy.llvm.1234567");
}

static void test_a_single_way(void **state)
{
	struct kernel_facts facts = facts_of(&full);
	enum hook_id id;

	assert_true(plan__options(&plan, &facts, HOOK_SEND, HOOK_SEND + 1, 0));
	assert_ptr_equal(plan.entries[HOOK_SEND].option, &hook__get(HOOK_SEND)->options[0]);
	for (id = HOOK_SEND + 1; id < HOOK_COUNT; id++)
		assert_null(plan.entries[id].option);
}

static void test_mechanisms_have_names(void **state)
{
	enum mechanism m;

	for (m = MECHANISM_FENTRY; m <= MECHANISM_OFF; m++)
		assert_int_equal(mechanism_parse(mechanism_name(m)), m);
	assert_int_equal(mechanism_parse("uprobe"), MECHANISM_NONE);
	assert_int_equal(mechanism_parse(""), MECHANISM_NONE);
}

/* The table itself: every way has programs, and every list has an end. */
static void test_table_is_sound(void **state)
{
	const struct hook_option *option;
	enum hook_id id;
	size_t i;

	for (id = 0; id < HOOK_COUNT; id++) {
		assert_non_null(hook__get(id)->name);
		assert_non_null(hook__get(id)->purpose);
		for (i = 0; i < HOOK_OPTIONS_MAX && hook__get(id)->options[i].mechanism; i++) {
			option = &hook__get(id)->options[i];
			assert_non_null(option->programs[0]);
			assert_null(
				option->programs[sizeof(option->programs) / sizeof(char *) - 1]);
			assert_null(option->functions[3]);
			assert_true(option->functions[0] || option->tracepoints[0].name);
			assert_true(!option->functions[0] ==
				    (option->mechanism == MECHANISM_TRACEPOINT));
			assert_null(option->tracepoints[4].name);
			assert_true(!option->span == (id != HOOK_SEND));
			assert_true(!option->span == !option->completion_span);
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
		cmocka_unit_test(test_locked_kernel_falls_back_and_names_what_it_misses),
		cmocka_unit_test(test_hidden_addresses_cost_the_exact_flag),
		cmocka_unit_test(
			test_references_report_completions_without_a_function_for_the_last),
		cmocka_unit_test(test_nothing_there_gives_every_reason),
		cmocka_unit_test(test_a_second_way_in),
		cmocka_unit_test(test_completions_of_io_uring_need_its_zero_copy),
		cmocka_unit_test(test_copying_loads_do_without_zerocopy_hooks),
		cmocka_unit_test(test_sends_over_tcp_are_hooked_where_they_may_be),
		cmocka_unit_test(test_kprobes_replace_refused_tracing_programs),
		cmocka_unit_test(test_a_preemptible_kernel_gets_kprobes_where_threads_run),
		cmocka_unit_test(test_forced_kprobe_never_uses_fentry),
		cmocka_unit_test(test_stages_are_hooked_on_request),
		cmocka_unit_test(test_packets_are_identified_by_the_port_of_a_load),
		cmocka_unit_test(test_none_turns_every_hook_off),
		cmocka_unit_test(test_a_function_is_found_by_its_older_name),
		cmocka_unit_test(test_ids_come_with_the_sends),
		cmocka_unit_test(test_reading_is_timed_by_functions_only),
		cmocka_unit_test(test_a_variant_beside_the_function_is_reported),
		cmocka_unit_test(test_a_variant_instead_of_the_function_is_refused_by_name),
		cmocka_unit_test(test_a_renamed_function_with_its_own_arguments_is_found),
		cmocka_unit_test(test_a_single_way),
		cmocka_unit_test(test_mechanisms_have_names),
		cmocka_unit_test(test_table_is_sound),
	};

	return cmocka_run_group_tests_name("hooks", tests, NULL, NULL);
}
