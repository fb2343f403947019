// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Tests what the tracepoints' programs count of completions, in any order in which CPUs and a
 * reader pass the tracepoints. The programs are compiled for this machine and run over a simulated
 * error queue.
 */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "tables.h"

/* Few slots and few unread sends, so that slots are soon reused, and sockets reach the limits. */
#define SLOTS 256
#undef UNREAD_SENDS
#define UNREAD_SENDS 20
#include "native/kernel.h"
#include "native/seeds.h"

#define SEEN  2 /* cause counters; see CAUSE_COUNTER_NONE */
#define OTHER 3

enum copies { ALL_COPIED, NONE_COPIED, SOME_COPIED, SOME_UNFLAGGED, TWO_CAUSES };

struct truth {
	__u64 sends, flagged, unflagged, seen, other, unexplained;
};

static void add_run(struct plan_of_sends *plan, __u32 first, __u64 *random, enum copies copies)
{
	struct shared_ubuf *ubuf = &plan->ubufs[plan->count++];
	bool copied = copies == ALL_COPIED || (copies != NONE_COPIED && kernel__random(random, 2));

	ubuf->first = first;
	ubuf->sends = 1 + kernel__random(random, 3);
	ubuf->flagged = copied && (copies != SOME_UNFLAGGED || kernel__random(random, 2));
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
	assert_int_equal(t->coalesced, t->coalesced_seen);
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
	assert_int_equal(maps__count(&more_slots), 0);
}

/* Tries all seeds. The final counts are exact, in whatever order CPUs and reader take turns. */
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

/* Simulates a kernel that preempts the programs. */
static void test_reports_that_are_left_out(void **state)
{
	struct plan_of_sends plan = {.cpus = 2, .has_reader = true, .skipped = 30};

	try_all(&plan);
}

/* Lets CPUs continue while others are in the middle of a program. */
static void test_programs_at_once(void **state)
{
	struct plan_of_sends plan = {.has_reader = true, .stalled = 20};

	for (plan.cpus = 1; plan.cpus <= CPUS_MAX; plan.cpus++)
		try_all(&plan);
}

#define SOCKETS_IN_TURN 3
/* With this seed, a send was once lost: no program saw its completion, or its socket's end. */
#define FAILED_ONCE 20930

/*
 * The kernel skips programs at random, and sockets follow each other at one address. Each send must
 * be counted as complete, lost, or outstanding.
 */
static void test_skipped_programs(void **state)
{
	struct plan_of_sends plan = {.has_reader = true, .missed = 20, .ends = true};
	const struct totals *t;
	struct as_read read;
	struct zsock *s;
	__u64 seed, sends = 0, lost = 0, i;
	__u32 turn;

	for (plan.cpus = 1; plan.cpus <= 2; plan.cpus++)
		for (i = 0; i <= seeds; i++) {
			seed = i ? i : FAILED_ONCE;
			forget();
			memset(&pinned, 0, sizeof(pinned));
			for (turn = sends = 0; turn < SOCKETS_IN_TURN; turn++) {
				sends += plan_runs(&plan, 0, seed + turn, SOME_COPIED).sends;
				read = kernel__complete(&plan, seed + turn);
			}
			t = totals_of_all();
			s = zsock__find(read.sock);
			assert_int_equal(t->completions + t->lost_completions +
						 (s ? (__u64)s->waiting : 0),
					 sends);
			assert_int_equal(t->untracked, 0);
			zsock__end(read.sock);
			assert_int_equal(pinned.freed_bytes, sends * 100);
			assert_int_equal(sockets_kept, 0);
			assert_int_equal(sockets_closed, 0);
			lost += t->lost_completions;
		}
	assert_in_range(lost, 1, UINT64_MAX);
}

/* Sockets follow each other at one address; nothing is lost while no program is skipped. */
static void test_sockets_in_turn(void **state)
{
	struct plan_of_sends plan = {.cpus = 2, .ends = true, .closed = true};
	__u64 seed, sends, sent, queues, unread, all_unread = 0;
	struct as_read read;
	__u32 turn;

	for (seed = 1; seed <= seeds; seed++) {
		forget();
		plan.has_reader = seed % 2;
		for (turn = sends = queues = unread = 0; turn < SOCKETS_IN_TURN; turn++) {
			sent = plan_runs(&plan, 0, seed + turn, SOME_COPIED).sends;
			read = kernel__complete(&plan, seed + turn);
			sends += sent;
			queues += !!sent;
			unread += sent >= UNREAD_SENDS && !read.notifications_read;
		}
		assert_int_equal(totals_of_all()->queues, queues);
		assert_int_equal(totals_of_all()->queues_unread, unread);
		all_unread += unread;
		assert_int_equal(totals_of_all()->completions, sends);
		assert_int_equal(totals_of_all()->lost_completions, 0);
		assert_int_equal(sockets_kept, 0);
	}
	assert_in_range(all_unread, 1, UINT64_MAX);
}

/* Sends that were counted before the window closes are reported; later ones are not. */
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

/* Earlier sends do not count, even if a notification covers them as well. */
static void test_a_window_that_opens(void **state)
{
	struct plan_of_sends plan = {.cpus = 2, .has_reader = true};

	for (plan.before = 0; plan.before < 5; plan.before++)
		try_all(&plan);
}

/* Uses one CPU and no reader: others may be faster than a socket's first report. */
static void test_earlier_sends_are_counted_separately(void **state)
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

static void make_socket(struct sock *sk, int family)
{
	memset(sk, 0, sizeof(*sk));
	((struct sock_common___counted *)sk)->skc_refcnt.refs.counter = 1;
	sk->__sk_common.skc_family = (__u16)family;
	sk->sk_protocol = IPPROTO_TCP;
	sk->sk_error_queue.prev = (struct sk_buff *)&sk->sk_error_queue;
}

/* Watches a socket, which makes a send. Returns its entry. */
static struct zsock *watch_sender(struct sock *sk)
{
	struct send_key send = {.sock = (__u64)sk};
	struct zsock *s;

	make_socket(sk, AF_INET);
	forget();
	s = zsock__get(sk, 0);
	assert_true(s && id__take(s, 0));
	send.generation = s->generation;
	assert_true(slot__begin(&send, 1, 100));
	sk->sk_zckey.counter = 1;
	return s;
}

/* The reader's program ends the entry, and counts its send as lost. */
static void assert_ended(bool ended)
{
	gate = GATE_OPEN;
	sockets_checked();
	assert_int_equal(totals_of_all()->lost_completions, ended);
	assert_int_equal(sockets_kept, !ended);
	assert_int_equal(sockets_closed, 0);
}

/* No program saw the completion of a closed socket's send. The kernel uses the memory again. */
static void test_reused_memory(void **state)
{
	static struct sock sk;

	socket_destroyed((__u64)watch_sender(&sk)->sock);
	make_socket(&sk, AF_INET6);
	assert_ended(true);

	socket_destroyed((__u64)watch_sender(&sk)->sock);
	memset(&sk, 's', sizeof(sk));
	assert_ended(true);

	/* No program saw the socket's end, either. */
	watch_sender(&sk);
	make_socket(&sk, 1);
	assert_ended(true);

	watch_sender(&sk);
	assert_ended(false);
	zsock__end((__u64)&sk);
}

/* A closed socket gets no further notifications. */
static void test_a_closed_socket(void **state)
{
	struct plan_of_sends plan = {.closed = true};

	for (plan.cpus = 1; plan.cpus <= 2; plan.cpus++)
		try_all(&plan);
}

/* In Linux 7, the flag of each run is known before its notification is coalesced. */
static void test_references(void **state)
{
	struct plan_of_sends plan = {.references = true, .has_reader = true, .skipped = 30};

	for (plan.cpus = 1; plan.cpus <= CPUS_MAX; plan.cpus++)
		try_all(&plan);
	plan.closed = true;
	plan.cpus = 2;
	try_all(&plan);
}

/* Most reports are skipped, so that one report covers many references. */
static void test_many_references_at_once(void **state)
{
	struct plan_of_sends plan = {.references = true, .cpus = 1, .skipped = 95, .more = 50};

	try_all(&plan);
}

/* A cause without room for a note counts as lost. */
static void test_no_room_for_a_cause(void **state)
{
	struct send_key send = {.sock = 64, .generation = 1, .id = 5};
	__u16 cause;

	forget();
	assert_true(slot__begin(&send, 1, 100));
	for (cause = 1; cause <= CAUSE_BITS; cause++)
		note__add_bits(&send, cause);
	note__add_bits(&send, CAUSE_BITS); /* the send has a note already, so nothing is lost */
	assert_int_equal(totals_of_all()->lost_cause_bits, 0);
	note__add_bits(&send, CAUSE_BITS + 1);
	assert_int_equal(totals_of_all()->lost_cause_bits, 1);
}

/* Sends whose slot is taken by another send are found in another slot, until there is no room. */
static void test_no_room_for_a_send(void **state)
{
	struct send_key send = {.sock = 64, .generation = 1};

	forget();
	maps__limit(&more_slots, 3);
	for (; send.id < SLOTS + 3; send.id++)
		assert_true(slot__begin(&send, 1 + send.id, 100));
	assert_false(slot__begin(&send, 1, 100));
	while (send.id-- > 0)
		assert_int_equal(slot__find(&send)->start, 1 + send.id);
	maps__limit(&more_slots, 0);
}

static void test_without_a_reader(void **state)
{
	struct plan_of_sends plan = {.cpus = 3};

	try_all(&plan);
}

/* If data left the machine, a copy of them that arrived here was made by a mirror. */
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
		cmocka_unit_test(test_skipped_programs),
		cmocka_unit_test(test_sockets_in_turn),
		cmocka_unit_test(test_a_window_that_opens),
		cmocka_unit_test(test_earlier_sends_are_counted_separately),
		cmocka_unit_test(test_a_window_that_closes),
		cmocka_unit_test(test_reused_memory),
		cmocka_unit_test(test_a_closed_socket),
		cmocka_unit_test(test_references),
		cmocka_unit_test(test_many_references_at_once),
		cmocka_unit_test(test_no_room_for_a_cause),
		cmocka_unit_test(test_no_room_for_a_send),
	};

	seeds__read();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
