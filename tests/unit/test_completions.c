// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the tracepoints' programs count of completions, whatever the order in which CPUs
 * and a reader pass them: the programs themselves, compiled for this machine, over a
 * simulated error queue.
 */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

/* Few, so that most sends have to go without a slot. */
#define RING_SLOTS 8
#include "native/kernel.h"
#include "native/seeds.h"

#define SEEN  2 /* a tally; 0 is TALLY_NONE, 1 TALLY_FULL */
#define OTHER 3

enum copies { ALL_COPIED, NONE_COPIED, SOME_COPIED, SOME_IN_SILENCE, TWO_CAUSES };

struct truth {
	__u64 sends, flagged, unflagged, seen, other, unexplained;
};

static void add_run(struct plan_of_sends *plan, __u32 first, __u64 *random, enum copies copies)
{
	struct shared_ubuf *ubuf = &plan->ubufs[plan->count++];
	bool copied = copies == ALL_COPIED || (copies != NONE_COPIED && kernel__random(random, 2));

	ubuf->first = first;
	ubuf->sends = 1 + kernel__random(random, 3);
	ubuf->flagged = copied && (copies != SOME_IN_SILENCE || kernel__random(random, 2));
	ubuf->cause_counters = copied ? 1 << SEEN : 0;
	if (copied && copies == TWO_CAUSES)
		ubuf->cause_counters = 1 << (kernel__random(random, 2) ? SEEN : OTHER);
	ubuf->left = kernel__random(random, 2);
}

static void add_truth(struct truth *truth, const struct shared_ubuf *ubuf, __u32 window)
{
	__s32 before = (__s32)(window - ubuf->first);
	__u32 sends = before <= 0		    ? ubuf->sends
		      : (__u32)before < ubuf->sends ? ubuf->sends - (__u32)before
						    : 0;

	truth->sends += sends;
	truth->flagged += ubuf->flagged ? sends : 0;
	truth->unflagged += ubuf->cause_counters && !ubuf->flagged ? sends : 0;
	truth->seen += ubuf->cause_counters & 1 << SEEN ? sends : 0;
	truth->other += ubuf->cause_counters & 1 << OTHER ? sends : 0;
	truth->unexplained += ubuf->cause_counters || ubuf->left ? 0 : sends;
}

static struct truth plan_runs(struct plan_of_sends *plan, __u32 first, __u64 seed,
			      enum copies copies)
{
	__u64 random = seed * 0xd1342543de82ef95ULL | 1;
	__u32 ubufs = plan->before + plan->more + 1 + kernel__random(&random, 12), i;
	struct truth truth = {0};

	plan->count = 0;
	for (i = 0; i < ubufs; i++) {
		add_run(plan, first, &random, copies);
		first += plan->ubufs[i].sends;
	}
	for (i = 0; i < ubufs; i++)
		add_truth(&truth, &plan->ubufs[i], kernel__window(plan));
	return truth;
}

static const struct totals *totals_of_all(void)
{
	return FIRST_OF(totals);
}

static struct cause_counter *cause_counter(__u32 index)
{
	return bpf_map_lookup_elem(&cause_counters, &index);
}

static void forget(void)
{
	maps__clear();
	memset(&peers_rest, 0, sizeof(peers_rest));
}

static void assert_counts(const struct truth *truth, const struct as_read *read)
{
	const struct totals *t = totals_of_all();

	assert_int_equal(t->completions, truth->sends);
	assert_int_equal(t->flagged + t->flag_added - t->flag_retracted, truth->flagged);
	assert_int_equal(peers_rest.completions, truth->sends);
	assert_int_equal(peers_rest.copied, truth->flagged);
	assert_int_equal(t->notifications_read, read->notifications_read);
	assert_int_equal(t->reported, read->sends);
	assert_int_equal(t->errqueue_copied, read->copied);
	assert_in_range(t->completions_before, 0, read->completed_before);
	assert_int_equal(t->flag_assumed, 0);
	assert_int_equal(t->lost_completions, 0);
	assert_int_equal(t->lost_cause_bits, 0);
	assert_int_equal(t->untracked, 0);
}

static void assert_causes(const struct truth *truth)
{
	const struct totals *t = totals_of_all();

	assert_int_equal(cause_counter(SEEN)->sends + cause_counter(OTHER)->sends + t->unflagged,
			 truth->flagged + truth->unflagged);
	assert_int_equal(cause_counter(SEEN)->sends + cause_counter(SEEN)->unflagged, truth->seen);
	assert_int_equal(cause_counter(OTHER)->sends + cause_counter(OTHER)->unflagged,
			 truth->other);
	assert_int_equal(t->unflagged, truth->unflagged);
	assert_int_equal((__s64)peers_rest.unflagged, truth->unflagged);
	assert_int_equal(t->unexplained, truth->unexplained);
	assert_int_equal(cause_counter(CAUSE_COUNTER_NONE)->sends, 0);
	assert_int_equal(maps__count(&spill), 0);
}

/* However the CPUs and the reader take turns, in the end all is exact. */
static void try_all(struct plan_of_sends *plan)
{
	enum copies copies;
	struct truth truth;
	struct as_read read;
	__u64 seed;

	for (copies = ALL_COPIED; copies <= TWO_CAUSES; copies++)
		for (seed = 1; seed <= seeds; seed++) {
			forget();
			truth = plan_runs(plan, 0xfffffff0, seed, copies);
			read = kernel__complete(plan, seed);
			assert_counts(&truth, &read);
			assert_causes(&truth);
		}
}

static void test_one_cpu(void **state)
{
	struct plan_of_sends plan = {.cpus = 1, .has_reader = true};

	try_all(&plan);
}

static void test_several_cpus(void **state)
{
	struct plan_of_sends plan = {.has_reader = true};

	for (plan.cpus = 2; plan.cpus <= CPUS_MAX; plan.cpus++)
		try_all(&plan);
}

static void test_runs_that_overtake(void **state)
{
	struct plan_of_sends plan = {.has_reader = true, .apart = 2};

	for (plan.cpus = 1; plan.cpus <= 2; plan.cpus++)
		try_all(&plan);
}

/* As a kernel does that preempts the programs. */
static void test_reports_that_are_left_out(void **state)
{
	struct plan_of_sends plan = {.cpus = 2, .has_reader = true, .skipped = 30};

	try_all(&plan);
}

/* CPUs that go on while others are in the middle of a program: a flag that is not known is told, */
static void assert_bounds(const struct truth *truth)
{
	const struct totals *t = totals_of_all();
	__s64 flagged = t->flagged + t->flag_added - t->flag_retracted;

	assert_int_equal(t->completions, truth->sends);
	assert_int_equal(peers_rest.completions, truth->sends);
	assert_int_equal(peers_rest.copied, flagged);
	assert_true(llabs(flagged - (__s64)truth->flagged) <= (__s64)t->flag_assumed);
	assert_in_range(t->flag_assumed, 0, truth->sends);
	assert_int_equal(t->coalesced, t->coalesced_seen);
}

/* and is so in fewer than one of 200 runs, though a fifth of their looks into maps are stalled. */
static void test_programs_at_once(void **state)
{
	struct plan_of_sends plan = {.has_reader = true, .stalled = 20};
	struct truth truth;
	enum copies copies;
	__u32 unknown = 0;
	__u64 seed;

	for (plan.cpus = 1; plan.cpus <= CPUS_MAX; plan.cpus++)
		for (copies = ALL_COPIED; copies <= TWO_CAUSES; copies++)
			for (seed = 1; seed <= seeds; seed++) {
				forget();
				truth = plan_runs(&plan, 7, seed, copies);
				kernel__complete(&plan, seed);
				assert_bounds(&truth);
				unknown += totals_of_all()->flag_assumed > 0;
				if (copies == ALL_COPIED)
					assert_int_equal(cause_counter(SEEN)->sends, truth.sends);
			}
	assert_in_range(unknown, 0, CPUS_MAX * (TWO_CAUSES + 1) * seeds / 200);
}

/* A correction whose batch is not kept any more leaves its place to others. */
static void test_no_correction_stays(void **state)
{
	struct plan_of_sends plan = {.cpus = 3, .stalled = 20, .more = 40};
	struct as_read read;
	struct truth truth;
	struct zsock *s;
	__u64 seed;

	for (seed = 1; seed <= seeds; seed++) {
		forget();
		truth = plan_runs(&plan, 7, seed, SOME_COPIED);
		read = kernel__complete(&plan, seed);
		assert_bounds(&truth);
		s = zsock__find(read.sock);
		assert_non_null(s);
		corrections__make(s); /* as the next event does */
		assert_int_equal(s->corrections_left, 0);
	}
}

/* Of what was counted before, all is told; of the rest, nothing. */
static void test_a_window_that_closes(void **state)
{
	struct plan_of_sends plan = {.cpus = 2, .has_reader = true};
	const struct totals *t;
	struct truth truth;
	__u64 seed;

	for (plan.closes = 1; plan.closes < 60; plan.closes++)
		for (seed = 1; seed <= (seeds + 9) / 10; seed++) {
			forget();
			truth = plan_runs(&plan, 7, seed, ALL_COPIED);
			kernel__complete(&plan, seed);
			t = totals_of_all();
			assert_in_range(t->completions, 0, truth.sends);
			assert_int_equal(cause_counter(SEEN)->sends, t->completions);
			assert_int_equal(t->coalesced, t->coalesced_seen);
		}
}

/* What was sent before it counts for nothing, though notifications tell of both. */
static void test_a_window_that_opens(void **state)
{
	struct plan_of_sends plan = {.cpus = 2, .has_reader = true};

	for (plan.before = 0; plan.before < 5; plan.before++)
		try_all(&plan);
}

/* Another CPU or a reader may be faster than a socket's first report: what came before it is
 * missed. */
static void test_earlier_sends_are_counted_apart(void **state)
{
	struct plan_of_sends plan = {.cpus = 1, .before = 4};
	struct as_read read;
	__u64 seed;

	for (seed = 1; seed <= seeds; seed++) {
		forget();
		plan_runs(&plan, 0xfffffff0, seed, ALL_COPIED);
		read = kernel__complete(&plan, seed);
		assert_int_equal(totals_of_all()->completions_before, read.completed_before);
	}
}

/* Nobody is notified any more. */
static void test_a_closed_socket(void **state)
{
	struct plan_of_sends plan = {.closed = true};

	for (plan.cpus = 1; plan.cpus <= 2; plan.cpus++)
		try_all(&plan);
}

/* As on Linux 7: the flag of each run is known before its notification joins another. */
static void test_references(void **state)
{
	struct plan_of_sends plan = {.references = true, .has_reader = true, .skipped = 30};

	for (plan.cpus = 1; plan.cpus <= CPUS_MAX; plan.cpus++)
		try_all(&plan);
	plan.closed = true;
	plan.cpus = 2;
	try_all(&plan);
}

/* The only report tells of all of them. */
static void test_many_references_at_once(void **state)
{
	struct plan_of_sends plan = {.references = true, .cpus = 1, .skipped = 95, .more = 50};

	try_all(&plan);
}

/* A copy for which there was no room is not taken for none. */
static void test_no_room_for_copies(void **state)
{
	struct plan_of_sends plan = {.cpus = 2, .has_reader = true, .apart = 2, .more = 8};
	const struct totals *t = totals_of_all();
	__u64 seed, lost = 0;
	struct truth truth;

	maps__limit(&spill, 4);
	for (seed = 1; seed <= seeds; seed++) {
		forget();
		truth = plan_runs(&plan, 7, seed, TWO_CAUSES);
		kernel__complete(&plan, seed);
		t = totals_of_all();
		assert_int_equal(t->completions, truth.sends);
		assert_int_equal(t->flagged + t->flag_added - t->flag_retracted, truth.flagged);
		if (t->unexplained != truth.unexplained || t->unflagged != truth.unflagged)
			assert_in_range(t->lost_cause_bits, 1, truth.sends);
		lost += t->lost_cause_bits;
	}
	maps__limit(&spill, 0);
	assert_in_range(lost, 1, UINT64_MAX);
}

static void test_without_a_reader(void **state)
{
	struct plan_of_sends plan = {.cpus = 3};

	try_all(&plan);
}

/* What came in here of data that left was a mirror's copy. */
static void test_what_left_was_not_delivered_here(void **state)
{
	struct cause_info in = {.key = {.cause = CAUSE_LOCAL_DELIVERY, .ifindex = 3}};
	struct plan_of_sends plan = {.cpus = 1, .has_reader = true, .count = 2};
	__u32 here = OTHER + 1;

	plan.ubufs[0] = (struct shared_ubuf){0, 2, true, (__u16)(1 << here), true};
	plan.ubufs[1] = (struct shared_ubuf){2, 3, true, (__u16)(1 << here), false};
	forget();
	bpf_map_update_elem(&cause_infos, &here, &in, BPF_ANY);
	kernel__complete(&plan, 1);
	assert_int_equal(cause_counter(here)->mirrored, 2);
	assert_int_equal(cause_counter(here)->sends, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_left_was_not_delivered_here),
		cmocka_unit_test(test_one_cpu),
		cmocka_unit_test(test_several_cpus),
		cmocka_unit_test(test_runs_that_overtake),
		cmocka_unit_test(test_reports_that_are_left_out),
		cmocka_unit_test(test_without_a_reader),
		cmocka_unit_test(test_programs_at_once),
		cmocka_unit_test(test_no_correction_stays),
		cmocka_unit_test(test_a_window_that_opens),
		cmocka_unit_test(test_earlier_sends_are_counted_apart),
		cmocka_unit_test(test_a_window_that_closes),
		cmocka_unit_test(test_a_closed_socket),
		cmocka_unit_test(test_references),
		cmocka_unit_test(test_many_references_at_once),
		cmocka_unit_test(test_no_room_for_copies),
	};

	seeds__read();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
