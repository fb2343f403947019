/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Simulates what a kernel does with the completions of one socket, as its tracepoints show it. A
 * CPU queues a run's notification, or coalesces it with the queue's tail; then it reports the
 * queue; then it frees a notification that was coalesced. A reader takes notifications from the
 * queue and frees them. Several CPUs may be at different steps.
 */
#pragma once

#include "maps.h"

#define CPUS_MAX  4
#define UBUFS_MAX 64

/* Neighbouring sends that complete as one. */
struct shared_ubuf {
	__u32 first, sends;
	bool flagged;	      /* the kernel reports a copy */
	__u16 cause_counters; /* the causes that hooks saw: a set of bits */
	bool left;	      /* its data were seen to leave the machine */
};

struct plan_of_sends {
	struct shared_ubuf ubufs[UBUFS_MAX];
	__u32 count;
	__u32 cpus;
	__u32 apart; /* how many other runs a run may overtake */
	bool has_reader;
	__u32 skipped;	 /* percentage of reports that the kernel leaves out */
	__u32 missed;	 /* percentage of program runs that the kernel skips */
	__u32 closes;	 /* the window closes after this many steps; 0: it does not */
	__u32 before;	 /* runs sent before the window; some of them complete before it */
	__u32 more;	 /* more runs than any other plan has */
	__u32 into;	 /* sends of the next run that were sent before the window, too */
	bool references; /* hooks see references, not the end of notifications */
	bool ends;	 /* the socket closes, at the end */
	bool closed;	 /* the socket is closed, and no further notification is queued */
	__u32 stalled;	 /* percentage of map accesses at which other CPUs continue */
};

/* Reads by the application: sends in the window, and earlier ones that completed in it. */
struct as_read {
	__u64 notifications_read, sends, copied;
	__u64 completed_before;
	__u64 sock; /* the key of the socket's entry */
};

#define ZEROCOPY_ORIGIN 5
#define MERGED_AT	1500 /* an address in the code that coalesces notifications */
#define READ_AT		2500 /* an address in the code that reads notifications */

enum progress { IDLE, QUEUED, REPORTED };

struct cpu {
	enum progress stage;
	bool in_program;
	struct sk_buff *coalesced_with; /* the notification that was coalesced, or NULL */
};

struct state {
	struct sock sk;
	struct sk_buff skbs[UBUFS_MAX];
	struct sk_buff *queue[UBUFS_MAX];
	__u32 head, tail;
	__u32 window; /* the id of the window's first send */
	bool completed[UBUFS_MAX];
	__u32 sent; /* runs that were sent */
	__u32 left;
	struct cpu cpus[CPUS_MAX];
	struct sk_buff *taken; /* taken by the reader, not freed yet */
	bool reader_in_program;
	struct as_read read;
	__u64 random;
};

/* The kernel that continues while a program is stalled, and its plan. */
static struct state *running;
static const struct plan_of_sends *running_plan;

/* Returns a number below n, by xorshift64*. */
static inline __u32 kernel__random(__u64 *state, __u32 n)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (__u32)(*state * 0x2545f4914f6cdd1dULL >> 33) % n;
}

static struct sock_extended_err *record_of(struct sk_buff *skb)
{
	return &((struct sock_exterr_skb *)skb->cb)->ee;
}

static void set_tail(struct state *k)
{
	k->sk.sk_error_queue.prev =
		k->tail > k->head ? k->queue[k->tail - 1] : (struct sk_buff *)&k->sk.sk_error_queue;
}

/* Picks one of the next runs that were sent, within the number that may overtake each other. */
static __u32 next_run(struct state *k, const struct plan_of_sends *plan)
{
	__u32 turn = kernel__random(&k->random, plan->apart + 1), i, oldest = k->sent;

	for (i = 0; i < k->sent; i++) {
		if (k->completed[i])
			continue;
		if (oldest == k->sent)
			oldest = i;
		if (i - oldest > plan->apart || !turn--)
			break;
	}
	return i < k->sent && i - oldest <= plan->apart ? i : oldest;
}

static void notify(struct sk_buff *skb, struct sock *sk, const struct shared_ubuf *ubuf)
{
	struct sock_extended_err *ee = record_of(skb);

	skb->sk = sk;
	skb->destructor = (void *)sock_ofree_address;
	ee->ee_origin = ZEROCOPY_ORIGIN;
	ee->ee_code = ubuf->flagged;
	ee->ee_info = ubuf->first;
	ee->ee_data = ubuf->first + ubuf->sends - 1;
}

/* Prepares a notification as it is while it is not queued, as on a closed socket. */
static void abandon(struct sk_buff *skb, struct sock *sk, const struct shared_ubuf *ubuf)
{
	struct ubuf_info_msgzc *uarg = (void *)skb->cb;

	skb->sk = sk;
	skb->destructor = (void *)sock_ofree_address;
	uarg->id = ubuf->first;
	uarg->len = (__u16)ubuf->sends;
	uarg->zerocopy = !ubuf->flagged;
	uarg->ubuf.refcnt.refs.counter = 1;
	uarg->ubuf.ops = (void *)1;
}

/* Drops one or more references before the notification is queued. One of them reports the copy. */
static void drop_references(struct state *k, struct sk_buff *skb, const struct shared_ubuf *ubuf)
{
	__u32 references = 1 + kernel__random(&k->random, 3);
	__u32 telling = kernel__random(&k->random, references), i;

	abandon(skb, &k->sk, ubuf);
	for (i = 0; i < references; i++) {
		((struct ubuf_info_msgzc *)skb->cb)->ubuf.refcnt.refs.counter =
			(int)(references - i);
		reference_fentry(skb, skb->cb, !ubuf->flagged || i != telling);
		reference_fentry_again(skb, skb->cb, !ubuf->flagged || i != telling);
	}
}

static __u32 before_window(const struct state *k, const struct shared_ubuf *ubuf)
{
	__u32 before = k->window - ubuf->first;

	return !id_before(ubuf->first, k->window) ? 0 : before < ubuf->sends ? before : ubuf->sends;
}

/* Queues a notification as __msg_zerocopy_callback does, under the queue's lock. */
static void queue(struct state *k, struct cpu *cpu, const struct plan_of_sends *plan)
{
	__u32 n = next_run(k, plan);
	struct sk_buff *skb = &k->skbs[n];
	struct sock_extended_err *last;

	if (n == k->sent)
		return;
	k->completed[n] = true;
	k->left--;
	if (gate && id_before(plan->ubufs[n].first, k->window))
		k->read.completed_before += before_window(k, &plan->ubufs[n]);
	if (plan->references && gate)
		drop_references(k, skb, &plan->ubufs[n]);
	if (plan->closed) {
		abandon(skb, &k->sk, &plan->ubufs[n]);
		cpu->stage = REPORTED;
		cpu->coalesced_with = skb;
		return;
	}
	notify(skb, &k->sk, &plan->ubufs[n]);
	cpu->stage = QUEUED;
	cpu->coalesced_with = NULL;
	if (k->tail > k->head) {
		last = record_of(k->queue[k->tail - 1]);
		if (last->ee_data + 1 == plan->ubufs[n].first) {
			last->ee_data += plan->ubufs[n].sends;
			cpu->coalesced_with = skb;
			return;
		}
	}
	k->queue[k->tail++] = skb;
	set_tail(k);
}

/* Returns whether the kernel runs a program: it skips one that interrupts another. */
static bool runs(struct state *k, const struct plan_of_sends *plan)
{
	return kernel__random(&k->random, 100) >= plan->missed;
}

static void report(struct state *k, const struct plan_of_sends *plan)
{
	if (!plan->references) {
		if (runs(k, plan))
			notification_queued(&k->sk);
		return;
	}
	if (runs(k, plan))
		reference_reported(&k->sk);
	if (runs(k, plan))
		reference_reported_again(&k->sk);
}

static void step(struct state *k, struct cpu *cpu, const struct plan_of_sends *plan)
{
	__u32 interrupted = native_cpu;

	native_cpu = (__u32)(cpu - k->cpus);
	cpu->in_program = true;
	switch (cpu->stage) {
	case IDLE:
		if (k->left)
			queue(k, cpu, plan);
		break;
	case QUEUED:
		/*
		 * Without a reader, nothing else would report what is left, so the last report is
		 * never skipped.
		 */
		if (kernel__random(&k->random, 100) >= plan->skipped ||
		    (!plan->has_reader && !k->left))
			report(k, plan);
		cpu->stage = REPORTED;
		break;
	case REPORTED:
		if (cpu->coalesced_with && runs(k, plan))
			notification_freed(cpu->coalesced_with, MERGED_AT);
		if (cpu->coalesced_with && runs(k, plan))
			notification_freed_again(cpu->coalesced_with, MERGED_AT);
		cpu->stage = IDLE;
	}
	cpu->in_program = false;
	native_cpu = interrupted;
}

static __u32 first_of_window(const struct state *k, __u32 id)
{
	return id_before(id, k->window) ? k->window : id;
}

static void count_read(struct state *k, __u32 from, __u32 to, bool flagged)
{
	if (!gate || !id_before(from, to))
		return;
	k->read.notifications_read++;
	k->read.sends += to - from;
	k->read.copied += flagged ? to - from : 0;
}

static void read_queue(struct state *k, const struct plan_of_sends *plan)
{
	struct sock_extended_err *ee;

	if (k->taken) {
		k->reader_in_program = true;
		if (plan->references)
			reference_dequeued(&k->sk, k->taken);
		if (runs(k, plan))
			notification_freed(k->taken, READ_AT);
		k->reader_in_program = false;
		k->taken = NULL;
	} else if (k->tail > k->head) {
		k->taken = k->queue[k->head++];
		set_tail(k);
		ee = record_of(k->taken);
		count_read(k, first_of_window(k, ee->ee_info), ee->ee_data + 1, ee->ee_code);
	}
}

/* Makes the notes that hooks make when they see a run's data, before the run completes. */
static void leave_notes(const struct shared_ubuf *ubuf, struct send_key *send)
{
	__u16 counter;

	for (counter = 0; counter < 16; counter++)
		if (ubuf->cause_counters >> counter & 1)
			note__add_bits(send, counter);
	if (ubuf->left)
		note__add_bits(send, CAUSE_BIT_LEFT);
}

/* Begins the sends of a run that belong to the window. */
static void send_run(struct state *k, const struct shared_ubuf *ubuf)
{
	void (*between)(void) = maps__between;
	struct send_key send = {.sock = (__u64)&k->sk};
	struct zsock *s;

	maps__between = NULL; /* the socket is locked */
	s = zsock__find((__u64)&k->sk);
	send.generation = s->generation;
	for (send.id = ubuf->first; send.id != ubuf->first + ubuf->sends; send.id++) {
		if (id_before(send.id, k->window))
			continue;
		id__take(s, send.id);
		slot__begin(&send, 1, 100);
	}
	send.id = first_watched(s, ubuf->first);
	leave_notes(ubuf, &send);
	maps__between = between;
}

/* Lets the sender, a CPU or the reader continue, unless it is in the stalled program. */
static void run_step(struct state *k, const struct plan_of_sends *plan)
{
	__u32 turn = kernel__random(&k->random, plan->cpus + plan->has_reader);

	if (k->sent < plan->count && kernel__random(&k->random, 2))
		send_run(k, &plan->ubufs[k->sent++]);
	if (turn == plan->cpus && !k->reader_in_program)
		read_queue(k, plan);
	if (turn < plan->cpus && !k->cpus[turn].in_program)
		step(k, &k->cpus[turn], plan);
}

static void run_others(void)
{
	while (kernel__random(&running->random, 100) < running_plan->stalled)
		run_step(running, running_plan);
}

static bool busy(const struct state *k, const struct plan_of_sends *plan)
{
	__u32 i;

	for (i = 0; i < plan->cpus; i++)
		if (k->cpus[i].stage != IDLE)
			return true;
	return k->left || k->taken || (plan->has_reader && k->tail > k->head);
}

static void load_programs(const struct plan_of_sends *plan)
{
	sock_ofree_address = 0x1234;
	coalesce_ranges[0].from = MERGED_AT - 500;
	coalesce_ranges[0].to = plan->references ? coalesce_ranges[0].from : MERGED_AT + 500;
	read_ranges[0].from = READ_AT - 500;
	read_ranges[0].to = READ_AT + 500;
	sees_coalesced = counted_in_queue = !plan->references;
	counts_reported = true;
}

/* Returns the id of the first send in the window. */
static inline __u32 kernel__window(const struct plan_of_sends *plan)
{
	return plan->ubufs[plan->before].first + plan->into;
}

/* Before the window, completes some of the earlier sends, and reads some of their notifications. */
static void before_the_window(struct state *k, const struct plan_of_sends *plan)
{
	__u32 ubufs = plan->before ? kernel__random(&k->random, plan->before + 1) : 0;

	gate = GATE_CLOSED;
	while (plan->count - k->left < ubufs || k->cpus[0].stage != IDLE) {
		step(k, &k->cpus[0], plan);
		if (kernel__random(&k->random, 2))
			read_queue(k, plan);
	}
	if (k->taken)
		read_queue(k, plan);
}

/* Closes the socket; another one gets its memory at once. */
static void end_socket(struct state *k, const struct plan_of_sends *plan)
{
	if (runs(k, plan))
		socket_gone((__u64)&k->sk);
	if (runs(k, plan))
		socket_gone_again((__u64)&k->sk);
	if (runs(k, plan))
		notification_left(&k->sk);
	k->sk.sk_zckey.counter = 0;
	if (runs(k, plan))
		zsock__replace(&k->sk);
}

/* Runs the whole plan, in an order that the seed decides. */
static inline struct as_read kernel__complete(const struct plan_of_sends *plan, __u64 seed)
{
	struct state k = {.left = plan->count,
			  .sent = plan->before,
			  .random = seed * 0x9e3779b97f4a7c15ULL | 1,
			  .sk.__sk_common.skc_num = (__u16)seed};
	__u32 turns = 0;

	load_programs(plan);
	set_tail(&k);
	k.window = kernel__window(plan);
	before_the_window(&k, plan);
	gate = GATE_OPEN;
	zsock__get(&k.sk, k.window);
	if (plan->closed)
		k.sk.__sk_common.skc_flags = 1UL << SOCK_DEAD;
	running = &k;
	running_plan = plan;
	maps__between = run_others;
	while (busy(&k, plan)) {
		run_step(&k, plan);
		if (plan->closes && ++turns == plan->closes)
			gate = GATE_CORRECTING;
	}
	maps__between = NULL;
	running = NULL;
	if (plan->ends)
		end_socket(&k, plan);
	k.read.sock = (__u64)&k.sk;
	return k.read;
}
