// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel.h"

#include "bpf/causes.bpf.h"

#define ZEROCOPY_ORIGIN 5
#define MERGED_AT	1500 /* an address in the code that joins notifications, */
#define READ_AT		2500 /* and in the code that reads them */

int notification_queued(struct bpf_raw_tracepoint_args *ctx);
int notification_freed(struct bpf_raw_tracepoint_args *ctx);
extern volatile __u64 sock_ofree_address;
extern volatile struct address_range merge_ranges[MERGE_RANGES], read_ranges[READ_RANGES];
extern volatile bool merges_seen, counted_in_queue, counts_told;

enum stage { IDLE, QUEUED, REPORTED };

struct cpu {
	enum stage stage;
	bool in_program;
	struct sk_buff *joined; /* the notification that was, or NULL */
};

struct state {
	struct sock sk;
	struct sk_buff skbs[RUNS_MAX];
	struct sk_buff *queue[RUNS_MAX];
	__u32 head, tail;
	bool completed[RUNS_MAX];
	__u32 left;
	struct cpu cpus[CPUS_MAX];
	struct sk_buff *taken; /* by the reader, not yet freed */
	bool reader_in_program;
	struct as_read read;
	__u64 random;
};

/* Of the stalled program. */
static struct state *running;
static const struct plan_of_sends *running_plan;

__u32 kernel__random(__u64 *state, __u32 n)
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

/* Any of the next runs, as many as may overtake each other. */
static __u32 next_run(struct state *k, const struct plan_of_sends *plan)
{
	__u32 turn = kernel__random(&k->random, plan->apart + 1), i, oldest = plan->count;

	for (i = 0; i < plan->count; i++) {
		if (k->completed[i])
			continue;
		if (oldest == plan->count)
			oldest = i;
		if (i - oldest > plan->apart || !turn--)
			break;
	}
	return i < plan->count && i - oldest <= plan->apart ? i : oldest;
}

static void notify(struct sk_buff *skb, struct sock *sk, const struct run_of_sends *run)
{
	struct sock_extended_err *ee = record_of(skb);

	skb->sk = sk;
	skb->destructor = (void *)sock_ofree_address;
	ee->ee_origin = ZEROCOPY_ORIGIN;
	ee->ee_code = run->flagged;
	ee->ee_info = run->first;
	ee->ee_data = run->first + run->sends - 1;
}

/* As __msg_zerocopy_callback, under the queue's lock. */
static void queue(struct state *k, struct cpu *cpu, const struct plan_of_sends *plan)
{
	__u32 n = next_run(k, plan);
	struct sk_buff *skb = &k->skbs[n];
	struct sock_extended_err *last;

	notify(skb, &k->sk, &plan->runs[n]);
	k->completed[n] = true;
	k->left--;
	cpu->stage = QUEUED;
	cpu->joined = NULL;
	if (k->tail > k->head) {
		last = record_of(k->queue[k->tail - 1]);
		if (last->ee_data + 1 == plan->runs[n].first) {
			last->ee_data += plan->runs[n].sends;
			cpu->joined = skb;
			return;
		}
	}
	k->queue[k->tail++] = skb;
	set_tail(k);
}

static void report(struct state *k)
{
	__u64 args[] = {(__u64)&k->sk};

	notification_queued((void *)args);
}

static void free_at(struct sk_buff *skb, __u64 location)
{
	__u64 args[] = {(__u64)skb, location};

	notification_freed((void *)args);
}

static void step(struct state *k, struct cpu *cpu, const struct plan_of_sends *plan)
{
	cpu->in_program = true;
	switch (cpu->stage) {
	case IDLE:
		if (k->left)
			queue(k, cpu, plan);
		break;
	case QUEUED:
		if (kernel__random(&k->random, 100) >= plan->skipped)
			report(k);
		cpu->stage = REPORTED;
		break;
	case REPORTED:
		if (cpu->joined)
			free_at(cpu->joined, MERGED_AT);
		cpu->stage = IDLE;
	}
	cpu->in_program = false;
}

static void read_queue(struct state *k)
{
	struct sock_extended_err *ee;

	if (k->taken) {
		k->reader_in_program = true;
		free_at(k->taken, READ_AT);
		k->reader_in_program = false;
		k->taken = NULL;
	} else if (k->tail > k->head) {
		k->taken = k->queue[k->head++];
		set_tail(k);
		ee = record_of(k->taken);
		k->read.records++;
		k->read.sends += ee->ee_data - ee->ee_info + 1;
		k->read.copied += ee->ee_code ? ee->ee_data - ee->ee_info + 1 : 0;
	}
}

/* A CPU or the reader goes on, unless it is in a program, where it is stalled itself. */
static void take_turn(struct state *k, const struct plan_of_sends *plan)
{
	__u32 turn = kernel__random(&k->random, plan->cpus + plan->has_reader);

	if (turn == plan->cpus && !k->reader_in_program)
		read_queue(k);
	if (turn < plan->cpus && !k->cpus[turn].in_program)
		step(k, &k->cpus[turn], plan);
}

static void others_go_on(void)
{
	while (kernel__random(&running->random, 100) < running_plan->stalled)
		take_turn(running, running_plan);
}

static bool busy(const struct state *k, const struct plan_of_sends *plan)
{
	__u32 i;

	for (i = 0; i < plan->cpus; i++)
		if (k->cpus[i].stage != IDLE)
			return true;
	return k->left || k->taken || (plan->has_reader && k->tail > k->head);
}

/* The hooks that saw a run's data leave their marks before it completes. */
static void mark(const struct plan_of_sends *plan, struct sock *sk, const struct zerocopy_socket *s)
{
	struct run_key key = {.sock = (__u64)sk, .born = s->born};
	__u32 i;
	__u16 tally;

	for (i = 0; i < plan->count; i++)
		for (tally = 0; tally < 16; tally++) {
			key.id = plan->runs[i].first;
			if (plan->runs[i].tallies >> tally & 1)
				run__mark(&key, tally);
			if (plan->runs[i].left && !tally)
				run__mark(&key, MARK_LEFT);
		}
}

static void load_programs(void)
{
	sock_ofree_address = 0x1234;
	merge_ranges[0].from = MERGED_AT - 500;
	merge_ranges[0].to = MERGED_AT + 500;
	read_ranges[0].from = READ_AT - 500;
	read_ranges[0].to = READ_AT + 500;
	merges_seen = counted_in_queue = counts_told = true;
	gate = GATE_OPEN;
}

struct as_read kernel__complete(const struct plan_of_sends *plan, __u32 first, __u64 seed)
{
	struct state k = {.left = plan->count, .random = seed * 0x9e3779b97f4a7c15ULL | 1};
	__u32 turns = 0;

	load_programs();
	set_tail(&k);
	mark(plan, &k.sk, socket__watch(&k.sk, first));
	running = &k;
	running_plan = plan;
	maps__between = others_go_on;
	while (busy(&k, plan)) {
		take_turn(&k, plan);
		if (plan->closes && ++turns == plan->closes)
			gate = GATE_MENDING;
	}
	maps__between = NULL;
	running = NULL;
	return k.read;
}
