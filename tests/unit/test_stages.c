// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Tests how the time of a send is divided, with the kernel programs compiled for this machine.
 * Functions nest, and softirqs and switches come at any moment, also between reading the clock and
 * using its value. Each stage must have exactly the time and the counts that passed in it.
 */
#include "tests/unit/unit.h"

#include <string.h>

#include "native/kernel.h"
#include "native/seeds.h"

#define SLOT		   CALL_SLOT(CALL_SENDMSG, true)
#define MY_TID		   0
#define MOST_NS		   5000
#define NET_RX		   3
#define TIMER		   1
#define COUNTS_PER_NS	   3
#define LOOKS_OF_A_READING 2 /* the clock, the counter */
#define FUNCTION(name, stage)                      \
	{                                          \
		stage, name##_fentry, name##_fexit \
	}

static const struct function {
	enum stage stage;
	int (*begin)(void), (*end)(void);
} functions[] = {FUNCTION(stage_fragment, STAGE_FRAGMENT), FUNCTION(stage_transmit, STAGE_TRANSMIT),
		 FUNCTION(stage_alloc, STAGE_ALLOC), FUNCTION(stage_wait, STAGE_WAIT)};
static const struct function copy = FUNCTION(stage_copy, STAGE_COPY);

/* The simulated events, and the truth about them. */
static struct {
	__u64 random, now, truth[STAGES], begun;
	enum stage stage; /* the stage of the code on the CPU */
	bool away;	  /* in a softirq, or in another thread */
	__u32 interrupted_of_100;
	__u32 uninterrupted; /* how many next readings of clock or counter nothing interrupts */
} m;

static __u32 random_below(__u32 n)
{
	return kernel__random(&m.random, n);
}

static void pass(enum stage stage)
{
	__u64 ns = random_below(MOST_NS);

	m.now += ns;
	m.truth[stage] += ns;
}

static void be_interrupted(void)
{
	__u32 vector = random_below(2) ? NET_RX : TIMER;
	enum stage stage = vector == NET_RX ? STAGE_SOFTIRQ : STAGE_INTERRUPT;

	m.away = true;
	softirq_begins(vector);
	pass(stage);
	if (random_below(2)) {
		stage_deep_copy_fentry();
		pass(STAGE_DEEP_COPY);
		stage_deep_copy_fexit();
		pass(stage);
	}
	softirq_ends();
	m.away = false;
}

/* Switches the thread away. A blocked thread waits for a CPU once it is woken. */
static void be_switched(bool preempted)
{
	static struct task_struct me = {.pid = MY_TID}, other = {.pid = 1};

	m.away = true;
	thread_switched(preempted, &me, &other);
	if (!preempted)
		pass(m.stage == STAGE_LOCK ? STAGE_LOCK_WAIT : STAGE_BLOCKED);
	if (preempted || m.stage != STAGE_LOCK)
		pass(STAGE_PREEMPTED);
	native_task.sched_info.run_delay = m.truth[STAGE_PREEMPTED];
	thread_switched(false, &other, &me);
	m.away = false;
}

/*
 * Reads the clock. Right after a reading of clock or counter, something may take the thread away.
 * The readings that follow are not interrupted, because the programs read a limited number of
 * times.
 */
static __u64 look_at_clock(void)
{
	__u64 seen = m.now;

	if (m.away)
		return seen;
	if (m.uninterrupted) {
		m.uninterrupted--;
	} else if (random_below(100) < m.interrupted_of_100) {
		m.uninterrupted = 2 * LOOKS_OF_A_READING;
		if (random_below(2))
			be_interrupted();
		else
			be_switched(true);
	}
	return seen;
}

/* Reads the CPU's counter, which also counts other threads. */
static __u64 look_at_counter(void)
{
	return COUNTS_PER_NS * look_at_clock();
}

static void anything(void)
{
	pass(m.stage);
	if (!random_below(4))
		be_interrupted();
	if (!random_below(8))
		be_switched(random_below(2));
	pass(m.stage);
}

/* Calls a function, which may call others, up to a depth. */
static void call(const struct function *f, __u32 depth)
{
	enum stage caller = m.stage;
	__u32 i;

	f->begin();
	m.stage = f->stage;
	anything();
	for (i = random_below(3); i > 0 && depth; i--) {
		call(&functions[random_below(4)], depth - 1);
		anything();
	}
	f->end();
	m.stage = caller;
}

static void start(__u64 seed, __u32 interrupted_of_100)
{
	maps__clear();
	memset(&m, 0, sizeof(m));
	native_task.sched_info.run_delay = 0;
	m.random = seed * 0xd1342543de82ef95ULL | 1;
	m.now = 1000000;
	m.interrupted_of_100 = interrupted_of_100;
	maps__clock = look_at_clock;
	native_counter = look_at_counter;
	call_counters = 1;
	gate = GATE_OPEN;
	stages = true;
	account__get();
}

static const struct stage_slot *slot_of(__u32 slot)
{
	return bpf_map_lookup_elem(&stage_slots, &slot);
}

/* Asserts that a stage has the counts that belong to this many ns on the CPU. */
static void assert_counted(enum stage stage, __u64 ns)
{
	assert_int_equal(slot_of(CALL_SLOTS + SLOT)->of[stage].sum, COUNTS_PER_NS * ns);
}

static void assert_truth(void)
{
	const struct stage_slot *s = slot_of(SLOT);
	__u64 sum = 0, off = 0;
	enum stage stage;

	for (stage = 0; stage < STAGES; stage++) {
		assert_int_equal(s->of[stage].sum, m.truth[stage]);
		sum += m.truth[stage];
		off += stage < STAGES_ON_CPU ? 0 : m.truth[stage];
	}
	assert_int_equal(s->of[STAGE_WHOLE].count, 1);
	assert_int_equal(s->of[STAGE_WHOLE].sum, sum);
	assert_int_equal(s->of[STAGE_ON_CPU].sum, sum - off);
	for (stage = STAGE_UNACCOUNTED; stage < STAGES; stage++)
		if (stage != STAGE_ENTRY)
			assert_counted(stage, stage < STAGES_ON_CPU ? m.truth[stage] : 0);
	assert_counted(STAGE_ENTRY, 0); /* the beginning of the stage reads only the clock */
	assert_counted(STAGE_WHOLE, sum - off - m.truth[STAGE_ENTRY]);
}

/* Sends as tcp_sendmsg does: locks, sends, releases. */
static void send(void)
{
	entry_sendto_fentry();
	pass(STAGE_ENTRY);
	account__enter();
	account__begin(STAGE_LOCK, true);
	m.stage = STAGE_LOCK;
	anything();
	call(&copy, 3);
	m.stage = STAGE_RELEASE;
	anything();
	account__end(SLOT, false, 100);
}

static void test_each_stage_has_what_passed_in_it(void **state)
{
	__u64 seed;

	for (seed = 1; seed <= seeds; seed++) {
		start(seed, 0);
		send();
		assert_truth();
	}
}

/*
 * The thread may also be away while a program begins or ends a send. That time is in one sum or in
 * none, but never in two.
 */
static void test_nothing_is_charged_twice(void **state)
{
	const struct stage_slot *s;
	__u64 seed, sum;
	enum stage stage;

	for (seed = 1; seed <= seeds; seed++) {
		start(seed, 30);
		account__begin(STAGE_UNACCOUNTED, true);
		memset(m.truth, 0, sizeof(m.truth));
		m.stage = STAGE_UNACCOUNTED;
		call(&copy, 3);
		account__end(SLOT, false, 100);
		s = slot_of(SLOT);
		for (stage = sum = 0; stage < STAGES; stage++)
			sum += s->of[stage].sum;
		assert_int_equal(sum, s->of[STAGE_WHOLE].sum);
		for (stage = 0; stage < STAGES_ON_CPU; stage++)
			if (stage != STAGE_UNACCOUNTED && stage != STAGE_SOFTIRQ &&
			    stage != STAGE_INTERRUPT && stage != STAGE_DEEP_COPY) {
				assert_int_equal(s->of[stage].sum, m.truth[stage]);
				assert_counted(stage, m.truth[stage]);
			}
	}
}

/* A skipped program leaves a stage open, or closes one that was not opened. */
static void test_skipped_programs_lose_no_time(void **state)
{
	const struct stage_slot *s;
	__u64 seed, sum;
	enum stage stage;

	for (seed = 1; seed <= seeds; seed++) {
		start(seed, 0);
		account__begin(STAGE_LOCK, true);
		stage_copy_fentry();
		anything();
		stage_fragment_fentry(); /* the end of this stage is skipped */
		anything();
		stage_transmit_fexit(); /* the beginning of this stage was skipped */
		anything();
		stage_copy_fexit();
		m.stage = STAGE_RELEASE;
		memset(m.truth, 0, sizeof(m.truth));
		anything();
		account__end(SLOT, false, 100);
		s = slot_of(SLOT);
		for (stage = sum = 0; stage < STAGES; stage++)
			sum += s->of[stage].sum;
		assert_int_equal(sum, s->of[STAGE_WHOLE].sum);
		assert_int_equal(s->of[STAGE_RELEASE].sum, m.truth[STAGE_RELEASE]);
	}
}

/* A missed switch to the thread loses no send, and all time of the send has a stage. */
static void test_a_missed_switch_loses_no_send(void **state)
{
	static struct task_struct me = {.pid = MY_TID}, other = {.pid = 1};

	start(1, 0);
	account__begin(STAGE_LOCK, true);
	pass(STAGE_LOCK);
	stage_copy_fentry();
	pass(STAGE_COPY);
	m.away = true;
	thread_switched(false, &me, &other);
	m.away = false;
	pass(STAGE_BLOCKED);
	account__end(SLOT, false, 100);
	assert_truth();
}

static void test_pages_that_are_handed_over_are_not_copied(void **state)
{
	start(1, 0);
	account__begin(STAGE_LOCK, true);
	stage_copy_fentry();
	pass(STAGE_LOOP);
	stage_copy_fexit();
	account__end(SLOT, true, 100);
	assert_int_equal(slot_of(SLOT)->of[STAGE_LOOP].sum, m.truth[STAGE_LOOP]);
	assert_int_equal(slot_of(SLOT)->of[STAGE_COPY].count, 0);
	assert_int_equal(slot_of(SLOT)->bytes, 100);
}

/* A syscall may begin without a send. The entry stage is measured from the most recent syscall. */
static void test_entry_is_of_the_last_syscall(void **state)
{
	start(1, 0);
	entry_sendto_fentry();
	m.now += 1000000;
	entry_sendto_fentry();
	m.now += 70;
	account__enter();
	account__begin(STAGE_LOCK, true);
	account__end(SLOT, false, 100);
	assert_int_equal(slot_of(SLOT)->of[STAGE_ENTRY].sum, 70);
	account__begin(STAGE_LOCK, true); /* a send in a syscall whose beginning was missed */
	account__end(SLOT, false, 100);
	assert_int_equal(slot_of(SLOT)->of[STAGE_ENTRY].count, 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_stage_has_what_passed_in_it),
		cmocka_unit_test(test_nothing_is_charged_twice),
		cmocka_unit_test(test_skipped_programs_lose_no_time),
		cmocka_unit_test(test_a_missed_switch_loses_no_send),
		cmocka_unit_test(test_pages_that_are_handed_over_are_not_copied),
		cmocka_unit_test(test_entry_is_of_the_last_syscall),
	};

	seeds__read();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
