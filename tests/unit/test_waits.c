// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Tests which zero-copy sends were made after a wait for the completion of the one before. */
#include "tests/unit/unit.h"

#include "native/maps.h"

#define SEGMENT	   1448
#define ROUND_TRIP 20000 /* us */
#define BEGUN	   (1000 * MS)
#define TOOK	   (10 * US)

static struct tcp_sock tcp;
static struct last_send last;

/* Two sends of a socket in turn; a test changes one of them. Times are in ns. */
struct two_sends {
	__u64 completed; /* the first one, after it began */
	__u64 gap;	 /* from there until the second one begins */
	__u64 took;	 /* the call of the first one */
	__u32 bytes, in_flight;
	__u32 received;		   /* between both */
	__u32 sleeps, preemptions; /* of the thread between both */
	bool fails;		   /* the first one */
};

static const struct two_sends awaited = {
	.completed = 40 * MS, .gap = 100 * US, .took = TOOK, .bytes = 13, .sleeps = 1};

static int setup(void **state)
{
	maps__clear();
	memset(&last, 0, sizeof(last));
	tcp.mss_cache = SEGMENT;
	tcp.rtt_min.s[0].v = ROUND_TRIP / 2;
	return 0;
}

static void begin(const struct two_sends *t, __u64 at)
{
	last_send__begin(&last, (struct sock *)&tcp, t->in_flight, t->took, at, t->bytes,
			 SHAPES_MSG_ZEROCOPY);
}

/* Makes both sends. Returns how many waits have been counted so far, for this reason or for any. */
static __u64 waits(struct two_sends t, __u32 reason)
{
	__u32 index = SHAPES_MSG_ZEROCOPY;
	struct send_waits *sums = bpf_map_lookup_elem(&send_waits, &index);
	__u64 all = 0;
	__u32 i;

	last.begun = 0;
	begin(&t, BEGUN);
	if (t.fails)
		last_send__fail(&last);
	now = BEGUN + t.completed;
	last_send__end(&last, (struct sock *)&tcp);
	tcp.copied_seq += t.received;
	native_task.nvcsw += t.sleeps;
	native_task.nivcsw += t.preemptions;
	begin(&t, now + t.gap);
	for (i = 0; i < WAIT_REASONS; i++)
		all += sums->awaited[i];
	return reason < WAIT_REASONS ? sums->awaited[reason] : all;
}

static void test_the_reason_is_the_length_of_the_wait(void **state)
{
	struct two_sends t = awaited;

	assert_int_equal(waits(t, WAIT_DELAYED_ACK), 1);
	t.bytes = 2 * SEGMENT; /* whole segments are acknowledged at once */
	assert_int_equal(waits(t, WAIT_OTHER), 1);
	t.completed = 20 * MS;
	assert_int_equal(waits(t, WAIT_ROUND_TRIP), 1);
	assert_int_equal(waits(t, WAIT_REASONS), 4);
}

static void test_what_is_no_wait(void **state)
{
	struct two_sends late = awaited, soon = awaited, answered = awaited, within = awaited,
			 several = awaited, endless = awaited, refused = awaited;

	late.gap = 5 * MS;
	soon.completed = 80 * US; /* after which 10 us are soon */
	answered.received = 1;
	within.took = within.completed;
	several.in_flight = 1;
	endless.completed = 6000 * MS;
	refused.fails = true;
	assert_int_equal(waits(late, WAIT_REASONS), 0);
	assert_int_equal(waits(soon, WAIT_REASONS), 0);
	assert_int_equal(waits(answered, WAIT_REASONS), 0);
	assert_int_equal(waits(within, WAIT_REASONS), 0);
	assert_int_equal(waits(several, WAIT_REASONS), 0);
	assert_int_equal(waits(endless, WAIT_REASONS), 0);
	assert_int_equal(waits(refused, WAIT_REASONS), 0);
}

/* A thread that reads the error queue again and again does not sleep. */
static void test_a_preempted_thread_waited_only_if_it_also_slept(void **state)
{
	struct two_sends preempted = awaited, spun = awaited, slept = awaited;

	preempted.sleeps = spun.sleeps = 0;
	preempted.preemptions = slept.preemptions = 1;
	assert_int_equal(waits(preempted, WAIT_REASONS), 0);
	assert_int_equal(waits(spun, WAIT_REASONS), 1);
	assert_int_equal(waits(slept, WAIT_REASONS), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_the_reason_is_the_length_of_the_wait, setup),
		cmocka_unit_test_setup(test_what_is_no_wait, setup),
		cmocka_unit_test_setup(test_a_preempted_thread_waited_only_if_it_also_slept, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
