// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Tests which cause a stack shows: the real table, with addresses of an invented kernel. */
#include "tests/unit/unit.h"

#include <string.h>

#include "bpf/classify.h"
#include "user/kernel/causes.h"

#define SIZE 0x100

/* The invented kernel's functions, from 0x1000 on. Some have two parts, some are missing. */
static const char *const kernel[] = {
	"skb_copy_ubufs",    "dev_queue_xmit_nit",   "dev_hard_start_xmit",
	"__skb_tstamp_tx",   "tun_net_xmit",	     "__netif_receive_skb_core",
	"process_backlog",   "__pskb_pull_tail",     "skb_checksum_help",
	"xfrm_output",	     "validate_xmit_skb",    "skb_segment",
	"netem_enqueue",     "e1000_xmit_frame",     "__dev_queue_xmit",
	"skb_copy",	     "__tcp_retransmit_skb", "nfqnl_enqueue_packet",
	"deliver_skb",	     "do_xdp_generic",	     "skb_pp_cow_data",
	"bpf_skb_pull_data",
};
#define COUNT (sizeof(kernel) / sizeof(kernel[0]))

static __u64 address(const char *name)
{
	size_t i;

	for (i = 0; i < COUNT; i++)
		if (!strcmp(kernel[i], name))
			return 0x1000 + i * SIZE;
	fail_msg("no %s in the test's kernel", name);
	return 0;
}

static size_t code(const struct features *context, const char *function,
		   struct address_range ranges[2])
{
	size_t i;

	(void)context;
	for (i = 0; i < COUNT; i++) {
		if (strcmp(kernel[i], function))
			continue;
		ranges[0] = (struct address_range){0x1000 + i * SIZE, 0x1000 + i * SIZE + SIZE / 2};
		ranges[1] = (struct address_range){ranges[0].to, ranges[0].to + SIZE / 2};
		return 2;
	}
	return 0;
}

static struct call_site call_sites[CALL_SITES_MAX];
static __u32 call_site_count;

static __u32 cause_at(__u64 at, __u64 caller, __u64 second, __u64 third, __u32 kinds)
{
	struct frame frame = {at, {caller, second, third}};

	return classify__frame(call_sites, call_site_count, &frame, kinds);
}

/* Returns a stack's cause; names: functions, innermost first, below two frames without a name. */
static enum cause cause(enum copier copier, unsigned int kinds, const char *const *names)
{
	__u64 stack[STACK_FRAMES] = {0x10, 0x20};
	size_t i;

	for (i = 0; names[i]; i++)
		stack[2 + i] = address(names[i]) + SIZE - 1;
	call_site_count = (__u32)causes__call_sites(call_sites, CALL_SITES_MAX, code, NULL);
	return classify(stack, CLASSIFY_ASKED(copier, kinds | 1 << DEVICE_ANY), cause_at);
}

#define STACK(...)                \
	(const char *const[])     \
	{                         \
		__VA_ARGS__, NULL \
	}
#define LOOPBACK (1 << DEVICE_LOOPBACK)
#define NO_SG	 (1 << DEVICE_NO_SCATTER_GATHER)
#define NO_CSUM	 (1 << DEVICE_NO_CHECKSUM)

static void test_causes_of_replaced_pages(void **state)
{
	assert_int_equal(
		cause(COPIER_UBUFS, 0,
		      STACK("skb_copy_ubufs", "dev_queue_xmit_nit", "dev_hard_start_xmit")),
		CAUSE_PACKET_TAP);
	assert_int_equal(cause(COPIER_UBUFS, 0,
			       STACK("skb_copy_ubufs", "__skb_tstamp_tx", "e1000_xmit_frame",
				     "dev_hard_start_xmit")),
			 CAUSE_TIMESTAMP);
	assert_int_equal(cause(COPIER_UBUFS, 0,
			       STACK("skb_copy_ubufs", "tun_net_xmit", "dev_hard_start_xmit")),
			 CAUSE_TUN);
}

static void test_the_device_distinguishes_loopback_from_other_local_delivery(void **state)
{
	const char *const *stack =
		STACK("skb_copy_ubufs", "__netif_receive_skb_core", "process_backlog");

	assert_int_equal(cause(COPIER_UBUFS, LOOPBACK, stack), CAUSE_LOOPBACK);
	assert_int_equal(cause(COPIER_UBUFS, 0, stack), CAUSE_LOCAL_DELIVERY);
}

/* Some kernels copy a packet only when they deliver it to a receiver, which may be a tap. */
static void test_a_tap_may_get_it_before_it_is_delivered(void **state)
{
	const char *const *stack =
		STACK("skb_copy_ubufs", "deliver_skb", "__netif_receive_skb_core");

	assert_int_equal(cause(COPIER_UBUFS, LOOPBACK, stack), CAUSE_LOOPBACK);
	assert_int_equal(cause(COPIER_UBUFS, 0, stack), CAUSE_LOCAL_DELIVERY | CAUSE_BY_TAP);
}

/* BPF programs run before any other receiver of a packet. */
static void test_causes_by_programs(void **state)
{
	assert_int_equal(
		cause(COPIER_PULL, 0,
		      STACK("__pskb_pull_tail", "do_xdp_generic", "__netif_receive_skb_core")),
		CAUSE_XDP);
	assert_int_equal(cause(COPIER_COW, 0, STACK("skb_pp_cow_data", "process_backlog")),
			 CAUSE_XDP);
	assert_int_equal(cause(COPIER_PULL, 0,
			       STACK("__pskb_pull_tail", "bpf_skb_pull_data", "__dev_queue_xmit")),
			 CAUSE_TC_PROGRAM);
}

static void test_causes_of_pulled_data(void **state)
{
	assert_int_equal(cause(COPIER_PULL, NO_CSUM,
			       STACK("__pskb_pull_tail", "skb_checksum_help", "validate_xmit_skb")),
			 CAUSE_CHECKSUM);
	assert_int_equal(cause(COPIER_PULL, 0,
			       STACK("__pskb_pull_tail", "skb_checksum_help", "validate_xmit_skb")),
			 CAUSE_TUNNEL_CHECKSUM);
	assert_int_equal(cause(COPIER_PULL, 0,
			       STACK("__pskb_pull_tail", "skb_checksum_help", "xfrm_output")),
			 CAUSE_IPSEC);
	assert_int_equal(cause(COPIER_PULL, NO_SG, STACK("__pskb_pull_tail", "validate_xmit_skb")),
			 CAUSE_NO_SCATTER_GATHER);
	assert_int_equal(cause(COPIER_PULL, 0, STACK("__pskb_pull_tail", "validate_xmit_skb")),
			 CAUSE_LINEARIZED);
	assert_int_equal(
		cause(COPIER_PULL, 0,
		      STACK("__pskb_pull_tail", "e1000_xmit_frame", "dev_hard_start_xmit")),
		CAUSE_DRIVER);
}

/* The cause is the innermost known function, not one that calls it. */
static void test_the_innermost_place_wins(void **state)
{
	assert_int_equal(cause(COPIER_UBUFS, LOOPBACK,
			       STACK("skb_copy_ubufs", "dev_queue_xmit_nit", "__dev_queue_xmit",
				     "__netif_receive_skb_core")),
			 CAUSE_PACKET_TAP);
	assert_int_equal(cause(COPIER_UBUFS, LOOPBACK,
			       STACK("skb_copy_ubufs", "__netif_receive_skb_core",
				     "process_backlog", "__tcp_retransmit_skb")),
			 CAUSE_LOOPBACK);
}

static void test_the_device_shows_why_segments_share_no_pages(void **state)
{
	const char *const *stack = STACK("skb_segment", "validate_xmit_skb");

	assert_int_equal(cause(COPIER_SEGMENT, NO_SG, stack), CAUSE_NO_SCATTER_GATHER);
	assert_int_equal(cause(COPIER_SEGMENT, 0, stack), CAUSE_SEGMENTATION);
}

static void test_a_place_is_of_its_copier_only(void **state)
{
	assert_int_equal(cause(COPIER_PULL, 0, STACK("__pskb_pull_tail", "dev_queue_xmit_nit")),
			 CAUSE_UNCLASSIFIED);
	assert_int_equal(cause(COPIER_DUPLICATE, 0, STACK("skb_copy", "netem_enqueue")),
			 CAUSE_QDISC);
}

static void test_an_outer_place_must_be_near(void **state)
{
	assert_int_equal(cause(COPIER_PULL, 0,
			       STACK("__pskb_pull_tail", "skb_checksum_help", "skb_segment",
				     "validate_xmit_skb", "__dev_queue_xmit", "xfrm_output")),
			 CAUSE_TUNNEL_CHECKSUM);
}

static void test_what_fits_no_row_is_not_guessed(void **state)
{
	assert_int_equal(cause(COPIER_DUPLICATE, 0, STACK("skb_copy", "nfqnl_enqueue_packet")),
			 CAUSE_UNCLASSIFIED);
}

/* Hides all addresses, as kernel.kptr_restrict=2 does. */
static size_t no_code(const struct features *context, const char *function,
		      struct address_range ranges[2])
{
	(void)context;
	(void)function;
	(void)ranges;
	return 0;
}

static void test_hidden_addresses_leave_no_places(void **state)
{
	struct call_site call_sites[CALL_SITES_MAX];

	assert_int_equal(causes__call_sites(call_sites, CALL_SITES_MAX, no_code, NULL), 0);
}

static void test_every_call_site_has_room(void **state)
{
	size_t rows = 0;

	while (cause_sites[rows].function)
		rows++;
	/* each function may be in two parts */
	assert_true(2 * rows <= CALL_SITES_MAX);
}

static void test_an_errno_has_its_refusal(void **state)
{
	assert_int_equal(refusal__of(105), REFUSAL_ENOBUFS);
	assert_int_equal(refusal__of(95), REFUSAL_UNSUPPORTED);
	assert_int_equal(refusal__of(11), REFUSAL_FULL);
	assert_int_equal(refusal__of(32), REFUSAL_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_causes_of_replaced_pages),
		cmocka_unit_test(test_the_device_distinguishes_loopback_from_other_local_delivery),
		cmocka_unit_test(test_a_tap_may_get_it_before_it_is_delivered),
		cmocka_unit_test(test_causes_by_programs),
		cmocka_unit_test(test_causes_of_pulled_data),
		cmocka_unit_test(test_the_innermost_place_wins),
		cmocka_unit_test(test_the_device_shows_why_segments_share_no_pages),
		cmocka_unit_test(test_a_place_is_of_its_copier_only),
		cmocka_unit_test(test_an_outer_place_must_be_near),
		cmocka_unit_test(test_what_fits_no_row_is_not_guessed),
		cmocka_unit_test(test_hidden_addresses_leave_no_places),
		cmocka_unit_test(test_every_call_site_has_room),
		cmocka_unit_test(test_an_errno_has_its_refusal),
	};

	return cmocka_run_group_tests_name("causes", tests, NULL, NULL);
}
