// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The verdict: what it says, and when it says that it cannot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "user/report/verdict.h"

static const struct cause_rows none = {};
static const struct cause_rows loopback = {
	.rows = {{.cause = CAUSE_LOOPBACK,
		  .device = "lo",
		  .netns = 7,
		  .ifindex = 1,
		  .sends = 1000}},
	.count = 1,
};

/* A thousand sends that went well. */
static const struct verdict_facts fine = {
	.requests = 1000,
	.completions = 1000,
	.to = " to 10.0.0.2",
	.causes = &none,
};

static const char *say(const struct verdict_facts *facts)
{
	static char text[VERDICT_MAX];

	verdict(facts, text);
	return text;
}

static void test_all_copied(void **state)
{
	struct verdict_facts f = fine;

	(void)state;
	f.copied = f.reported = 1000;
	f.causes = &loopback;
	assert_string_equal(say(&f), "100 % of 1,000 zero-copy sends to 10.0.0.2 were copied: "
				     "loopback, lo. Zero-copy cannot help here: send without it, "
				     "or try another path: analyze advise --peer.");
}

static void test_none_copied(void **state)
{
	struct verdict_facts f = fine;

	(void)state;
	assert_string_equal(say(&f), "none of 1,000 zero-copy sends to 10.0.0.2 was copied: "
				     "zero-copy works here.");
	f.silent = -1;
	assert_non_null(strstr(say(&f), "unflagged copies are not visible here"));
	assert_null(strstr(say(&f), "works"));
}

static void test_copies_may_have_gone_by_unseen(void **state)
{
	struct verdict_facts f = fine;

	(void)state;
	f.skipped_looks = 3;
	assert_string_equal(say(&f), "none of 1,000 zero-copy sends to 10.0.0.2 was copied, as far "
				     "as was seen. More may have been copied: the kernel skipped 3 "
				     "runs of the programs that see copies.");
	f.skipped_looks = -1;
	assert_non_null(strstr(say(&f), "this kernel does not count"));
	assert_null(strstr(say(&f), "works"));
	f.skipped_looks = 0;
	f.lost_copies = 1;
	assert_non_null(strstr(say(&f), "no room for traces of 1 packet"));
	assert_null(strstr(say(&f), "works"));
	f.copied = f.reported = 1000;
	f.causes = &loopback;
	assert_null(strstr(say(&f), "More may"));
}

/* However few they are. */
static void test_losses_are_a_caveat(void **state)
{
	struct verdict_facts f = fine;

	(void)state;
	f.copied = f.reported = 1000;
	f.causes = &loopback;
	f.lost = 1;
	assert_non_null(strstr(say(&f), "Caveat: 1 send was not followed to the end"));
	f.lost_else = 2;
	assert_non_null(strstr(say(&f), "Caveat: 3 sends were not followed to the end"));
	f.copied = f.reported = 0;
	assert_non_null(strstr(say(&f), "Caveat"));
}

/* What nobody flags or sees to be copied is not thereby known to be zero-copy. */
static void test_unexplained_sends_do_not_work(void **state)
{
	struct verdict_facts f = fine;

	(void)state;
	f.unexplained = 400;
	assert_non_null(strstr(say(&f), "none of 1,000 zero-copy sends to 10.0.0.2 was seen to be "
					"copied, but 400 of them reached no NIC"));
	assert_null(strstr(say(&f), "works"));
	f.copied = f.reported = 600;
	f.causes = &loopback;
	assert_non_null(strstr(say(&f), "60 % of 1,000"));
	assert_non_null(strstr(say(&f), "400 of them reached no NIC"));
	f.unexplained = -1;
	assert_null(strstr(say(&f), "NIC"));
}

/* A mechanism that sees no stacks is not to promise one. */
static void test_what_is_unclassified_has_a_stack_or_not(void **state)
{
	struct cause_rows rows = {
		.rows = {{.cause = CAUSE_UNCLASSIFIED, .device = "eth0", .sends = 1000}},
		.count = 1,
	};
	struct verdict_facts f = fine;

	(void)state;
	f.copied = f.reported = 1000;
	f.causes = &rows;
	assert_null(strstr(say(&f), "functions of the stack"));
	assert_non_null(strstr(say(&f), "a copy that was not seen being made, eth0."));
	strcpy(rows.rows[0].stack, "skb_copy_ubufs < f");
	assert_non_null(strstr(say(&f), "The functions of the stack tell"));
}

static void test_some_copied_for_two_reasons(void **state)
{
	struct cause_rows rows = {
		.rows = {{.cause = CAUSE_PACKET_TAP, .device = "eth0", .sends = 300},
			 {.cause = CAUSE_QDISC, .device = "eth0", .sends = 70}},
		.count = 2,
	};
	struct verdict_facts f = fine;

	(void)state;
	f.copied = f.reported = 370;
	f.causes = &rows;
	assert_string_equal(
		say(&f), "37 % of 1,000 zero-copy sends to 10.0.0.2 were copied, most of them "
			 "(300): tcpdump or another packet tap, eth0. Find the listener (ss -0pl) "
			 "and end it.");
}

/* A share is never rounded to all or to nothing. */
static void test_shares_are_not_rounded_away(void **state)
{
	struct verdict_facts f = fine;

	(void)state;
	f.requests = f.completions = 1000000;
	f.copied = 999999;
	assert_non_null(strstr(say(&f), "99.9 % of"));
	f.copied = 1;
	assert_non_null(strstr(say(&f), "0.1 % of"));
}

static void test_the_remedy_names_the_device(void **state)
{
	json_object *record =
		json_tokener_parse("{\"zerocopy\": {\"causes\": [{\"cause\": \"no_scatter_gather\","
				   "\"device\": \"eth\\u001b[2J\", \"count\": 1000}]}}");
	const struct cell cell = {.records = &record, .count = 1};
	struct verdict_facts f = fine;
	struct cause_rows rows;

	(void)state;
	cause_rows__gather(&rows, &cell);
	f.copied = f.silent = 1000;
	f.causes = &rows;
	assert_non_null(strstr(say(&f), "ethtool -K eth\\x1b[2J sg on"));
	assert_null(strchr(say(&f), '\x1b'));
	assert_non_null(strstr(say(&f), "The error queue reported 0."));
	json_object_put(record);
}

static void test_too_little_bears_no_verdict(void **state)
{
	struct verdict_facts f = fine;

	(void)state;
	f.requests = f.completions = VERDICT_SENDS - 1;
	assert_string_equal(say(&f), "no verdict: 99 zero-copy sends completed, too few to tell");
	f = fine;
	f.lost = 11;
	assert_non_null(strstr(say(&f), "no verdict: of 1,000 zero-copy sends 11 could not"));
	f = fine;
	f.outstanding = 101;
	f.completions = 899;
	assert_non_null(strstr(say(&f), "no verdict: of 1,000 zero-copy sends 101 have no"));
	f = fine;
	f.completions = f.copied = -1;
	assert_non_null(strstr(say(&f), "no verdict: how many of the 1,000"));
	assert_string_equal(say(&(struct verdict_facts){.to = "", .causes = &none}), "");
}

static void test_what_never_got_so_far(void **state)
{
	struct verdict_facts f = fine;

	(void)state;
	f.completions = 0;
	f.ignored = 1000;
	assert_string_equal(say(&f), "100 % of 1,000 requests were ignored, and the data copied: "
				     "the socket lacks SO_ZEROCOPY.");
	f.empty = 200;
	assert_string_equal(say(&f), "80 % of 1,000 requests were ignored, and the data copied: "
				     "the socket lacks SO_ZEROCOPY. 20 % of 1,000 requests were "
				     "ignored: zero length.");
	f.empty = 1000;
	assert_string_equal(say(&f), "100 % of 1,000 requests were ignored: zero length.");
	f = fine;
	f.completions = 0;
	f.refused = 1000;
	f.refusal = "memlock";
	assert_non_null(strstr(say(&f), "100 % of 1,000 requests were refused: the user has as "
					"many pages pinned as RLIMIT_MEMLOCK allows."));
	f = fine;
	f.completions = 800;
	f.refused = 200;
	f.refusal = "optmem";
	assert_string_equal(say(&f),
			    "20 % of 1,000 requests were refused: the socket has as many "
			    "notifications unread or under way as optmem allows. Read the error "
			    "queue more often, or raise net.core.optmem_max. None of 800 zero-copy "
			    "sends to 10.0.0.2 was copied: zero-copy works here.");
}

/* That few were completed is for want of what the refusal names. */
static void test_refusals_come_first(void **state)
{
	struct verdict_facts f = fine;

	(void)state;
	f.requests = 2000;
	f.refused = 1920;
	f.refusal = "optmem";
	f.completions = 80;
	assert_string_equal(say(&f),
			    "96 % of 2,000 requests were refused: the socket has as many "
			    "notifications unread or under way as optmem allows. Read the error "
			    "queue more often, or raise net.core.optmem_max. No verdict: 80 "
			    "zero-copy sends completed, too few to tell");
	f.requests = f.refused = 1;
	f.completions = 0;
	assert_non_null(strstr(say(&f), "100 % of 1 request was refused: "));
}

static void test_two_causes_of_all_copies(void **state)
{
	struct cause_rows rows = {
		.rows = {{.cause = CAUSE_LOCAL_DELIVERY, .device = "veth1", .sends = 1000},
			 {.cause = CAUSE_PACKET_TAP, .device = "veth0", .sends = 1000}},
		.count = 2,
	};
	const struct cause_row_sum tap = rows.rows[1];
	struct verdict_facts f = fine;
	static const char *const words =
		"100 % of 1,000 zero-copy sends to 10.0.0.2 were copied, for more than one cause: "
		"tcpdump or another packet tap, veth0; delivery on this machine, veth1. Without "
		"the first, the second alone would still copy them. Zero-copy cannot help between "
		"sockets of one machine: send without it.";

	(void)state;
	f.copied = f.reported = 1000;
	f.causes = &rows;
	assert_string_equal(say(&f), words);
	rows.rows[1] = rows.rows[0];
	rows.rows[0] = tap;
	assert_string_equal(say(&f), words);
	rows.rows[1] =
		(struct cause_row_sum){.cause = CAUSE_CHECKSUM, .device = "veth0", .sends = 1000};
	assert_non_null(strstr(say(&f), "would still copy them. Find the listener (ss -0pl) and "
					"end it. ethtool -K veth0 tx on, if"));
	rows.rows[1].sends = 999;
	assert_non_null(strstr(say(&f), "were copied: tcpdump or another packet tap, veth0, and "
					"other causes. Find the listener"));
}

static void test_a_single_run_ranks_nothing(void **state)
{
	struct verdict_facts f = fine;

	(void)state;
	f.other = "twocopy";
	f.speed = f.cpu = (struct spread){.middle = 2.5, .count = 1};
	assert_non_null(strstr(say(&f), " --repeat 5 compares it with twocopy."));
	assert_null(strstr(say(&f), "Use"));
}

#define LESS                                                        \
	{                                                           \
		.low = 0.25, .middle = 0.4, .high = 0.5, .count = 5 \
	}
#define MORE                                                   \
	{                                                      \
		.low = 2, .middle = 2.5, .high = 4, .count = 5 \
	}
#define NEARLY                                                        \
	{                                                             \
		.low = 1.01, .middle = 1.02, .high = 1.04, .count = 5 \
	}
#define ALIKE                                                      \
	{                                                          \
		.low = 0.9, .middle = 1.2, .high = 1.3, .count = 5 \
	}

static void test_repeats_compare_by_their_intervals(void **state)
{
	static const struct {
		struct spread speed, cpu;
		const char *said;
	} cases[] = {
		{LESS, MORE,
		 " Against twocopy: 0.40 times the throughput (0.25-0.50), 2.50 times the CPU time "
		 "per byte (2.00-4.00). Use twocopy instead."},
		{ALIKE, MORE, "CPU time per byte (2.00-4.00). Use twocopy instead."},
		{MORE, LESS, " (0.25-0.50). It pays here."},
		{ALIKE, LESS,
		 " Against twocopy: no difference above 3 % in throughput was found (0.90-1.30), "
		 "0.40 times "
		 "the CPU time per byte (0.25-0.50). It pays here."},
		{NEARLY, NEARLY, " no difference above 3 % in throughput was found (1.01-1.04)"},
		{ALIKE, ALIKE,
		 " no difference above 3 % in CPU time per byte was found (0.90-1.30)."},
		{MORE, MORE, " (2.00-4.00). One is paid for with the other."},
		{MORE, {.middle = 1, .count = 0}, " CPU time per byte is not known. It pays here."},
	};
	struct verdict_facts f = fine;
	size_t i;

	(void)state;
	f.other = "twocopy";
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		f.speed = cases[i].speed;
		f.cpu = cases[i].cpu;
		assert_non_null(strstr(say(&f), cases[i].said));
	}
}

static void test_a_noisy_machine_ranks_nothing(void **state)
{
	struct verdict_facts f = fine;

	(void)state;
	f.other = "twocopy";
	f.speed = f.cpu = (struct spread)MORE;
	f.noise = "other programs took 48 % of the CPUs' time";
	assert_non_null(strstr(say(&f),
			       "zero-copy works here. No ranking: other programs took 48 % "
			       "of the CPUs' time; --wait-quiet waits for quiet."));
	assert_null(strstr(say(&f), "Against"));
}

static const char *finding(const struct verdict_facts *facts)
{
	static char text[VERDICT_MAX];

	verdict__finding(facts, text);
	return text;
}

static void test_findings_have_no_numbers(void **state)
{
	struct verdict_facts f = fine;

	(void)state;
	assert_string_equal(finding(&f), "no send was copied: zero-copy works here");
	f.silent = -1;
	assert_string_equal(finding(&f), "no send was seen to be copied");
	f.copied = 1000;
	f.causes = &loopback;
	assert_string_equal(finding(&f), "100 % copied: loopback, lo. Zero-copy cannot help here: "
					 "send without it, or try another path: analyze advise "
					 "--peer.");
	f.copied = 10;
	assert_non_null(strstr(finding(&f), "some copied: loopback, lo."));
	f.completions = 3;
	assert_non_null(strstr(finding(&f), "no verdict"));
	f.requests = 0;
	assert_string_equal(finding(&f), "no send asked for zero-copy");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_copied),
		cmocka_unit_test(test_none_copied),
		cmocka_unit_test(test_copies_may_have_gone_by_unseen),
		cmocka_unit_test(test_losses_are_a_caveat),
		cmocka_unit_test(test_unexplained_sends_do_not_work),
		cmocka_unit_test(test_what_is_unclassified_has_a_stack_or_not),
		cmocka_unit_test(test_some_copied_for_two_reasons),
		cmocka_unit_test(test_shares_are_not_rounded_away),
		cmocka_unit_test(test_the_remedy_names_the_device),
		cmocka_unit_test(test_too_little_bears_no_verdict),
		cmocka_unit_test(test_what_never_got_so_far),
		cmocka_unit_test(test_refusals_come_first),
		cmocka_unit_test(test_two_causes_of_all_copies),
		cmocka_unit_test(test_a_single_run_ranks_nothing),
		cmocka_unit_test(test_repeats_compare_by_their_intervals),
		cmocka_unit_test(test_a_noisy_machine_ranks_nothing),
		cmocka_unit_test(test_findings_have_no_numbers),
	};

	return cmocka_run_group_tests_name("verdict", tests, NULL, NULL);
}
