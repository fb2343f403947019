// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Samples the CPUs, to see in which kernel functions and in which send a measured thread is. Also
 * measures how long a thread is off its CPU in a send, and where it left the CPU.
 */
#include "state.bpf.h"

/* Preallocated, because samples come in interrupts. The loader creates it only for --profile. */
HASH(profile_stacks, PROFILE_STACKS_MAX, struct profile_key, struct profile_stack);
PERCPU_ARRAY(new_profile_stack, 1, struct profile_stack);

/* Threads that are off the CPU in a send, by id. */
struct profile_left {
	struct profile_key key;
	__u64 since; /* ns */
};
HASH(profile_left, 16384, __u32, struct profile_left);
/* Separate from new_profile_stack, because a sample may interrupt. */
PERCPU_ARRAY(new_left_stack, 1, struct profile_stack);

/* The number of samples, and of times off the CPU, for whose stack there was no room. */
volatile __u64 profile_lost;

/* Returns 1 + the slot in calls of the thread's send; 0 if the thread is in no send that counts. */
static __always_inline __u32 send_slot(const struct thread *thread)
{
	if (!thread || !thread->send.sock || thread->send.before)
		return 0;
	if (thread->send.plain_slot)
		return thread->send.plain_slot;
	return 1 + CALL_SLOT(thread->send.kind, thread->send.flags & MSG_ZEROCOPY);
}

/* Reads the kernel functions on the stack; a thread in user space has none. Returns their hash. */
static __always_inline __u64 read_stack(void *ctx, struct profile_stack *stack)
{
	long bytes = bpf_get_stack(ctx, stack->functions, sizeof(stack->functions), 0);

	stack->depth = bytes > 0 ? bytes / sizeof(stack->functions[0]) : 0;
	return hash_words(stack->functions, stack->depth, PROFILE_DEPTH_MAX);
}

/* Adds samples, or ns, to a stack. fresh: inserted if the stack is new; or NULL. */
static __always_inline void add_to_stack(const struct profile_key *key, struct profile_stack *fresh,
					 __u64 samples)
{
	struct profile_stack *stack;

	stack = bpf_map_lookup_elem(&profile_stacks, key);
	if (!stack && fresh) {
		fresh->samples = 0;
		bpf_map_update_elem(&profile_stacks, key, fresh, BPF_NOEXIST);
		stack = bpf_map_lookup_elem(&profile_stacks, key);
	}
	if (!stack)
		__sync_fetch_and_add(&profile_lost, 1);
	else if (samples) /* clang turns + 0 into an atomic or, which Linux lacks before 5.12 */
		__sync_fetch_and_add(&stack->samples, samples);
}

SEC("perf_event")
int profile_sample(void *ctx)
{
	struct profile_key key = {};
	struct profile_stack *fresh;
	struct thread *thread;
	__u32 role;

	if (gate != GATE_OPEN || !(__u32)current_ids() || is_bystander())
		return 0;
	thread = thread__peek();
	role = thread && thread->role & ROLE_LASTING ? thread->role : current_role();
	fresh = role ? FIRST_OF(new_profile_stack) : NULL;
	if (!fresh)
		return 0;
	key.role = role & ROLE_BOTH;
	key.slot = send_slot(thread);
	key.hash = read_stack(ctx, fresh);
	add_to_stack(&key, fresh, 1);
	return 0;
}

/* The thread leaves its CPU in a send. */
static __always_inline void leave(void *ctx, struct thread *thread, bool preempted)
{
	struct profile_stack *fresh = FIRST_OF(new_left_stack);
	struct profile_left left = {};
	__u32 tid = thread->tid;

	if (!fresh)
		return;
	left.key.slot = send_slot(thread);
	left.key.role =
		(thread->role & ROLE_BOTH) | (preempted ? PROFILE_PREEMPTED : PROFILE_WAITED);
	left.key.hash = read_stack(ctx, fresh);
	add_to_stack(&left.key, fresh, 0);
	left.since = bpf_ktime_get_ns();
	bpf_map_update_elem(&profile_left, &tid, &left, BPF_ANY);
}

SEC("raw_tp/sched_switch")
int BPF_PROG(profile_switched, __u64 preempted, struct task_struct *from, struct task_struct *to)
{
	__u64 now = bpf_ktime_get_ns();
	struct profile_left *left;
	struct thread *thread;
	__u32 next;

	if (gate != GATE_OPEN)
		return 0;
	thread = thread__peek();
	if (send_slot(thread))
		leave(ctx, thread, preempted & 0xff);
	next = READ(to, pid);
	left = bpf_map_lookup_elem(&profile_left, &next);
	if (left) {
		add_to_stack(&left->key, NULL, now - left->since);
		bpf_map_delete_elem(&profile_left, &next);
	}
	return 0;
}
