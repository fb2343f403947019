// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Samples the CPUs: in which kernel functions a measured thread was, and in which send. */
#include "state.bpf.h"

/* Preallocated, because samples come in interrupts. The loader creates it only for --profile. */
HASH(profile_stacks, PROFILE_STACKS_MAX, struct profile_key, struct profile_stack);
PERCPU_ARRAY(new_profile_stack, 1, struct profile_stack);

/* Samples for whose stack there was no room. */
volatile __u64 profile_lost;

/* Returns 0 if the thread is in no send that counts. */
static __always_inline __u32 send_slot(const struct thread *thread)
{
	if (!thread || !thread->sock || thread->before)
		return 0;
	if (thread->plain_slot)
		return thread->plain_slot;
	return 1 + CALL_SLOT(thread->kind, thread->flags & MSG_ZEROCOPY);
}

/* Reads the kernel functions on the stack; a thread in user space has none. Returns their hash. */
static __always_inline __u64 read_stack(void *ctx, struct profile_stack *stack)
{
	long bytes = bpf_get_stack(ctx, stack->functions, sizeof(stack->functions), 0);

	stack->depth = bytes > 0 ? bytes / sizeof(stack->functions[0]) : 0;
	return hash_words(stack->functions, stack->depth, PROFILE_DEPTH_MAX);
}

SEC("perf_event")
int profile_sample(void *ctx)
{
	struct profile_stack *fresh, *stack;
	struct profile_key key = {};
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
	stack = bpf_map_lookup_elem(&profile_stacks, &key);
	if (!stack) {
		fresh->samples = 0;
		bpf_map_update_elem(&profile_stacks, &key, fresh, BPF_NOEXIST);
		stack = bpf_map_lookup_elem(&profile_stacks, &key);
	}
	if (stack)
		__sync_fetch_and_add(&stack->samples, 1);
	else
		__sync_fetch_and_add(&profile_lost, 1);
	return 0;
}
