/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/unit/unit.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <linux/errqueue.h>

#include "loadgen/send/inflight.h"
#include "loadgen/send/send_ops.h"
#include "loadgen/send/sender.h"

static void a_message_is_free_when_all_its_sends_are_complete(void **state)
{
	struct inflight *l = inflight__create(2, 0);

	assert_int_equal(inflight__take_message(l), 0);
	inflight__count_send(l, 0);
	assert_int_equal(inflight__complete(l, 0, 0), 0);
	assert_int_equal(inflight__take_message(l), 1); /* part of message 0 is not sent yet */
	inflight__release_message(l, 1);
	inflight__count_send(l, 0);
	inflight__release_message(l, 0);
	assert_int_equal(inflight__take_message(l), 1);
	assert_int_equal(inflight__take_message(l), INFLIGHT_NONE);
	assert_int_equal(inflight__complete(l, 1, 1), 0);
	assert_int_equal(inflight__take_message(l), 0);
	assert_int_equal(inflight__count(l), 0);
	free(l);
}

static void what_was_freed_last_comes_first(void **state)
{
	struct inflight *l = inflight__create(8, 0);

	for (uint32_t m = 0; m < 3; m++) {
		assert_int_equal(inflight__take_message(l), m);
		inflight__count_send(l, m);
		inflight__release_message(l, m);
	}
	assert_int_equal(inflight__complete(l, 1, 1), 0);
	assert_int_equal(inflight__take_message(l), 1);
	assert_int_equal(inflight__take_message(l), 3);
	free(l);
}

static void numbers_wrap_and_come_out_of_order(void **state)
{
	struct inflight *l = inflight__create(8, UINT32_MAX - 2);

	for (uint32_t m = 0; m < 8; m++) {
		assert_int_equal(inflight__take_message(l), m);
		inflight__count_send(l, m);
		inflight__release_message(l, m);
	}
	assert_int_equal(inflight__complete(l, 3, 4), 0); /* the last two sends complete first */
	assert_int_equal(inflight__take_message(l), 7);
	assert_int_equal(inflight__take_message(l), 6);
	assert_int_equal(inflight__take_message(l), INFLIGHT_NONE);
	assert_int_equal(inflight__complete(l, UINT32_MAX - 2, 2), 0); /* six sends, with a wrap */
	assert_int_equal(inflight__count(l), 0);
	free(l);
}

static void completions_of_what_was_not_sent_are_refused(void **state)
{
	struct inflight *l = inflight__create(4, 10);

	assert_int_equal(inflight__complete(l, 10, 10), -EPROTO);
	assert_int_equal(inflight__take_message(l), 0);
	assert_int_equal(inflight__take_message(l), 1);
	inflight__count_send(l, 0);
	inflight__count_send(l, 1);
	assert_int_equal(inflight__complete(l, 9, 10), -EPROTO);
	assert_int_equal(inflight__complete(l, 10, 12), -EPROTO);
	assert_int_equal(inflight__complete(l, 11, 10), -EPROTO);
	assert_int_equal(inflight__complete(l, 11, 11), 0);
	assert_int_equal(inflight__complete(l, 11, 11), -EPROTO);
	assert_int_equal(inflight__complete(l, 10, 10), 0);
	free(l);
}

static void a_full_table_reports_no_room(void **state)
{
	struct inflight *l = inflight__create(1, UINT32_MAX);
	uint32_t sent = 0;

	assert_int_equal(inflight__take_message(l), 0);
	while (inflight__has_room(l)) {
		inflight__count_send(l, 0);
		sent++;
	}
	assert_int_equal(inflight__count(l), sent);
	assert_int_equal(inflight__complete(l, 0, 0), 0); /* not the oldest: still no room */
	assert_false(inflight__has_room(l));
	assert_int_equal(inflight__complete(l, UINT32_MAX, UINT32_MAX), 0);
	assert_true(inflight__has_room(l));
	free(l);
}

static struct msghdr error_message(int level, int type, const struct sock_extended_err *e)
{
	static _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(*e))];
	struct msghdr m = {.msg_control = control, .msg_controllen = sizeof(control)};
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	h->cmsg_level = level;
	h->cmsg_type = type;
	h->cmsg_len = CMSG_LEN(sizeof(*e));
	memcpy(CMSG_DATA(h), e, sizeof(*e));
	return m;
}

static void completions_are_parsed_for_both_families(void **state)
{
	struct sock_extended_err e = {.ee_origin = SO_EE_ORIGIN_ZEROCOPY,
				      .ee_code = SO_EE_CODE_ZEROCOPY_COPIED,
				      .ee_info = 5,
				      .ee_data = 9};
	struct msghdr m = error_message(SOL_IP, IP_RECVERR, &e);
	struct completion c;

	assert_true(completion__parse(&m, &c));
	assert_int_equal(c.low, 5);
	assert_int_equal(c.high, 9);
	assert_true(c.copied);
	e.ee_code = 0;
	m = error_message(SOL_IPV6, IPV6_RECVERR, &e);
	assert_true(completion__parse(&m, &c));
	assert_false(c.copied);
}

static void other_errors_are_no_completions(void **state)
{
	struct sock_extended_err e = {.ee_origin = SO_EE_ORIGIN_ICMP};
	struct msghdr m = error_message(SOL_IP, IP_RECVERR, &e);
	struct completion c;

	assert_false(completion__parse(&m, &c));
	e.ee_origin = SO_EE_ORIGIN_ZEROCOPY;
	m = error_message(SOL_SOCKET, SCM_RIGHTS, &e);
	assert_false(completion__parse(&m, &c));
	m = (struct msghdr){0};
	assert_false(completion__parse(&m, &c));
}

static void every_variant_is_complete(void **state)
{
	for (size_t i = 0; i < send_variant_count; i++) {
		const struct send_ops *v = send_variants[i];

		assert_true(v->name && v->name[0]);
		assert_null(strchr(v->name, ','));
		assert_ptr_equal(variants__find(v->name), v);
		assert_int_equal(!v->setup, !v->teardown);
		for (int loop = 0; loop < SEND_LOOPS; loop++)
			assert_non_null(v->runs[loop]);
		assert_true(!(v->flags & SEND_ZEROCOPY) || v->settle);
	}
	assert_null(variants__find("all")); /* "all" is a word of the option, not a variant */
	assert_null(variants__find("every"));
	assert_non_null(variants__find("zerocopy"));
	assert_null(variants__find("threecopy"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_is_free_when_all_its_sends_are_complete),
		cmocka_unit_test(what_was_freed_last_comes_first),
		cmocka_unit_test(numbers_wrap_and_come_out_of_order),
		cmocka_unit_test(completions_of_what_was_not_sent_are_refused),
		cmocka_unit_test(a_full_table_reports_no_room),
		cmocka_unit_test(completions_are_parsed_for_both_families),
		cmocka_unit_test(other_errors_are_no_completions),
		cmocka_unit_test(every_variant_is_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
