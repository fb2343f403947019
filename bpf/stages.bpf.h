/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Divides the time of a send: each moment is charged to the innermost hooked function, so that the
 * parts add up to the whole. A softirq may run between reading a clock and charging the time, and
 * the thread may lose its CPU there. Therefore a thread is charged by its own clock and counters,
 * which stop while it is away.
 */
#pragma once

#include "counters.bpf.h"
#include "timeline.bpf.h"

/* Set by the loader, which removes this code if it is false. */
const volatile bool stages = false;
/* True if PROTO_SEND_LOCKED is hooked. */
const volatile bool copy_is_hooked = false;

#define STAGE_DEPTH 8 /* a power of two */

/*
 * Hooked functions that have begun and not ended, in a thread or in a softirq that interrupts it.
 */
struct stage_stack {
	__u64 now[STAGE_METRICS];  /* in a map, so that the verifier forgets how it was computed */
	__u64 last[STAGE_METRICS]; /* the readings when the stack was last charged */
	__u32 depth;
	__u8 stages[STAGE_DEPTH]; /* stages[0] is the time outside of all hooked functions */
};

/* The account of a send whose time is divided into stages. */
struct account {
	__u64 entered; /* ns; when the syscall began; 0: not seen */
	__u64 entry;   /* ns; from the beginning of the syscall to that of the send */
	__u64 begun[STAGE_METRICS];
	__u64 away[STAGE_METRICS]; /* spent in softirqs and off the CPU since the send began */
	__u64 left[STAGE_METRICS]; /* the readings when the thread went away */
	struct stage_stack own, softirq;
	__u64 run_delay; /* ns that the thread had waited for a CPU before the send */
	__u32 times_away;
	__u8 active;
	__u8 in_softirq;
	__u8 off; /* enum stage while the thread is off the CPU; else 0 */
	__u64 sums[STAGE_METRICS][STAGE_SUMS];
};

/*
 * Accounts by thread id, not in task storage: a raw tracepoint cannot find the storage of the
 * thread to which the CPU switches, because that thread is not the current one.
 */
GROWING_HASH(accounts, 16384, __u32, struct account);

/* The initial value, too large for a program's stack. */
static const struct account no_account;

/*
 * Per CPU: 1 if its thread is in a send that is divided. It is checked first, because these hooks
 * run for all processes, and for sends that are not sampled.
 */
PERCPU_ARRAY(dividing, 1, __u32);

/* The number of CPUs with stage_slots of their own. */
const volatile __u32 stage_shares = 1;

/* The element is (share * metrics + metric) * CALL_SLOTS + slot. The analyzer sizes the map. */
MAP(stage_slots, ARRAY, 0, CALL_SLOTS *STAGE_METRICS *STAGE_SHARES_MAX, __u32, struct stage_slot);

static __always_inline struct account *account__peek(void)
{
	__u32 tid = bpf_get_current_pid_tgid();

	return bpf_map_lookup_elem(&accounts, &tid);
}

static __always_inline void cpu__set_dividing(bool is)
{
	__u32 *divides = FIRST_OF(dividing);

	if (divides)
		*divides = is;
}

/* The account of the thread's send, if the send is divided; else NULL. */
static __always_inline struct account *account__in_progress(void)
{
	__u32 *divides = FIRST_OF(dividing);
	struct account *a = divides && *divides ? account__peek() : NULL;

	return a && a->active ? a : NULL;
}

static __always_inline struct account *account__get(void)
{
	struct account *a = account__peek();
	__u32 tid = bpf_get_current_pid_tgid();

	if (a)
		return a;
	bpf_map_update_elem(&accounts, &tid, &no_account, BPF_NOEXIST);
	return account__peek();
}

#define for_each_metric(m) for (m = 0; m < STAGE_METRICS && m <= call_counters; m++)

/* Reads the clock and the CPU's counters; 0 for a counter that cannot be read. */
static __always_inline void metrics__read(__u64 *now)
{
	__u32 cpu = bpf_get_smp_processor_id(), m;

	for_each_metric (m) {
		if (m == STAGE_TIME)
			now[m] = bpf_ktime_get_ns();
		else if (!counter__read(cpu, m - 1, &now[m]))
			now[m] = 0;
	}
}

#define READINGS 3

/* Reads the thread's own time. If the thread went away meanwhile, reads again. */
static __always_inline void account__own_time(volatile struct account *a)
{
	__u64 *now = (__u64 *)a->own.now;
	__u32 seen, reading, m;

	for (reading = 0; reading < READINGS; reading++) {
		seen = a->times_away;
		metrics__read(now);
		for_each_metric (m)
			now[m] -= a->away[m];
		if (seen == a->times_away)
			return;
	}
}

/* Adds to a stage's sum. The verifier knows no bound for a stage that was read from memory. */
static __always_inline void account__add_to(struct account *a, __u32 m, __u32 stage, __u64 passed)
{
	__asm__ volatile("" : "+r"(stage));
	if (stage < STAGES)
		a->sums[m][stage] += passed;
}

/* Charges the innermost stage of a stack with what passed since the last charge. */
static __always_inline void account__charge(struct account *a, struct stage_stack *s)
{
	__u32 stage = s->stages[s->depth & (STAGE_DEPTH - 1)], m;
	__s64 passed;

	for_each_metric (m) {
		passed = s->now[m] - s->last[m];
		if (passed > 0)
			account__add_to(a, m, stage, passed);
		s->last[m] = s->now[m];
	}
}

/* Charges the innermost stage of the stack in which the CPU is, and returns that stack. */
static __always_inline struct stage_stack *account__charge_now(struct account *a)
{
	struct stage_stack *s = &a->own;

	if (a->in_softirq) {
		s = &a->softirq;
		metrics__read(s->now);
	} else {
		account__own_time(a);
	}
	account__charge(a, s);
	return s;
}

/* A hooked function begins within a divided send. */
static __always_inline void stage__begin(enum stage stage)
{
	struct account *a = account__in_progress();
	struct stage_stack *s;

	if (!a)
		return;
	s = account__charge_now(a);
	if (s->depth + 1 < STAGE_DEPTH)
		s->stages[++s->depth & (STAGE_DEPTH - 1)] = stage;
}

/*
 * A hooked function ends. Inner functions whose end was not seen end with it. If the beginning of
 * the function was not seen, nothing ends.
 */
static __always_inline void stage__end(enum stage stage)
{
	struct account *a = account__in_progress();
	struct stage_stack *s;
	__u32 depth, i;

	if (!a)
		return;
	s = account__charge_now(a);
	depth = s->depth;
	for (i = 1; i < STAGE_DEPTH && depth; i++, depth--) {
		if (s->stages[depth & (STAGE_DEPTH - 1)] != stage)
			continue;
		s->depth = depth - 1;
		break;
	}
	/* PROTO_SEND locks the socket before PROTO_SEND_LOCKED, and releases it afterwards. */
	if (stage == STAGE_COPY)
		s->stages[0] = STAGE_RELEASE;
}

/*
 * Returns how long the thread has waited for a CPU in all, in ns: preempted, or woken and not yet
 * running.
 */
static __always_inline __u64 run_delay(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	if (!bpf_core_field_exists(task->sched_info.run_delay))
		return 0;
	return READ(task, sched_info.run_delay);
}

static __always_inline void stack__clear(struct stage_stack *s, enum stage outside,
					 const __u64 *now)
{
	__u32 m;

	for_each_metric (m)
		s->last[m] = now[m];
	s->depth = 0;
	s->stages[0] = outside;
}

/* A send is about to begin, in a syscall whose beginning may have been seen. */
static __always_inline void account__enter(void)
{
	struct account *a = stages ? account__peek() : NULL;

	if (!a)
		return;
	a->entry = a->entered ? bpf_ktime_get_ns() - a->entered : 0;
	a->entered = 0;
}

/*
 * The send begins. outside: the stage of the time outside of all hooked functions; divide: the send
 * is sampled.
 */
static __always_inline void account__begin(enum stage outside, bool divide)
{
	struct account *a;
	__u32 m;

	if (!stages)
		return;
	a = account__get();
	if (!a)
		return;
	a->active = 0;
	if (!divide)
		return;
	cpu__set_dividing(true);
	__builtin_memset(a->sums[STAGE_TIME], 0, sizeof(a->sums[STAGE_TIME]));
	if (call_counters)
		__builtin_memset(a->sums, 0, sizeof(a->sums));
	for_each_metric (m)
		a->away[m] = 0;
	a->in_softirq = a->off = 0;
	a->active = 1;
	a->run_delay = run_delay();
	account__own_time(a);
	for_each_metric (m)
		a->begun[m] = a->own.now[m];
	stack__clear(&a->own, outside, a->own.now);
	a->sums[STAGE_TIME][STAGE_ENTRY] = a->entry;
	a->begun[STAGE_TIME] -= a->entry;
	a->entry = 0;
}

/*
 * The thread returns to its send; softirq.now has the readings of this moment. Charges its time
 * away to stage, unless stage is 0.
 */
static __always_inline void account__return(struct account *a, __u32 stage)
{
	const __u64 *now = a->softirq.now;
	__u32 m;

	for_each_metric (m) {
		a->away[m] += now[m] - a->left[m];
		/* Off the CPU, the counters count other threads. */
		if (m == STAGE_TIME && stage)
			account__add_to(a, m, stage, now[m] - a->left[m]);
	}
	*(volatile __u32 *)&a->times_away += 1;
}

/*
 * The thread runs. If it is still marked as off the CPU when its send ends, the switch to it was
 * missed, as about once in thousands of switches on Linux 6.18. Its time since then counts as off
 * the CPU.
 */
static __always_inline void account__resume(struct account *a)
{
	if (!a->off)
		return;
	metrics__read(a->softirq.now);
	account__return(a, a->off);
	a->off = 0;
}

/* The rest of PROTO_SEND_LOCKED is a copy, unless the send took pages as they are. */
static __always_inline void account__name_rest(struct account *a, bool pages)
{
	__u32 m;

	if (!pages && !a->sums[STAGE_TIME][STAGE_PIN])
		return;
	for_each_metric (m) {
		a->sums[m][STAGE_LOOP] = a->sums[m][STAGE_COPY];
		a->sums[m][STAGE_COPY] = 0;
	}
}

/* Moves time from blocked to preempted: a woken thread that waits for a CPU is not blocked. */
static __always_inline void account__name_waits(struct account *a)
{
	__u64 *sums = a->sums[STAGE_TIME], waited = run_delay() - a->run_delay, more;

	if (!sums[STAGE_BLOCKED] || waited <= sums[STAGE_PREEMPTED])
		return;
	more = waited - sums[STAGE_PREEMPTED];
	if (more > sums[STAGE_BLOCKED])
		more = sums[STAGE_BLOCKED];
	sums[STAGE_BLOCKED] -= more;
	sums[STAGE_PREEMPTED] += more;
}

/*
 * Sums up one metric of a send that has ended. The whole time is read from a clock, and time that
 * no stage has is unaccounted. The whole of a counter is the sum of its parts, because off the CPU
 * it counts other threads.
 */
static __always_inline void account__sum_up(struct account *a, __u32 m, __u64 whole)
{
	__u64 *sums = a->sums[m], on_cpu = 0, off = 0;
	__u32 stage;

	for (stage = STAGE_UNACCOUNTED + 1; stage < STAGES_ON_CPU; stage++)
		on_cpu += sums[stage];
	for (; stage < STAGES; stage++)
		off += sums[stage];
	if (m == STAGE_TIME)
		sums[STAGE_UNACCOUNTED] = whole > on_cpu + off ? whole - on_cpu - off : 0;
	else
		whole = on_cpu + off + sums[STAGE_UNACCOUNTED];
	sums[STAGE_WHOLE] = whole;
	sums[STAGE_ON_CPU] = whole > off ? whole - off : 0;
}

/* Adds each stage to its histogram. The verifier checks all paths of each turn of the loop. */
static __always_inline void account__add(const struct account *a, __u32 slot, __u32 m, long bytes)
{
	__u32 share = bpf_get_smp_processor_id() % stage_shares, stage;
	__u32 key = (share * (1 + call_counters) + m) * CALL_SLOTS + slot;
	struct stage_slot *to = bpf_map_lookup_elem(&stage_slots, &key);

	if (!to)
		return;
	if (bytes > 0)
		__sync_fetch_and_add(&to->bytes, bytes);
	for (stage = 0; stage < STAGE_SUMS; stage++)
		if (a->sums[m][stage])
			coarse_hist_add(&to->of[stage], a->sums[m][stage]);
}

/* The send ends. pages: the send handed over pages and copied nothing. */
static __always_inline void account__end(__u32 slot, bool pages, long bytes)
{
	struct account *a;
	__u64 whole;
	__u32 m;

	if (!stages)
		return;
	a = account__peek();
	if (!a || !a->active)
		return;
	account__resume(a);
	account__own_time(a);
	account__charge(a, &a->own);
	/* The thread's own time, and the time away. */
	whole = a->own.now[STAGE_TIME] + *(volatile __u64 *)&a->away[STAGE_TIME] -
		a->begun[STAGE_TIME];
	a->active = 0;
	cpu__set_dividing(false);
	account__name_rest(a, pages);
	account__name_waits(a);
	for_each_metric (m) {
		account__sum_up(a, m, whole);
		account__add(a, slot, m, bytes);
	}
}
