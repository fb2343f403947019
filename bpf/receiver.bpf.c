// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "functions.bpf.h"
#include "inflight.bpf.h"
#include "timeline.bpf.h"

/*
 * Counts the receiver's copies from skbs to its memory. Other address families use the same
 * function, so the skb's socket is checked. The skb's protocol is no alternative: it is not set if
 * the queue was collapsed.
 */
static __always_inline void received(struct sk_buff *skb, int bytes)
{
	struct thread *thread = gate == GATE_OPEN ? thread__get() : NULL;

	if (!thread || !(thread->role & ROLE_RECEIVER) || !is_ours(READ(skb, sk)))
		return;
	timeline__receive(READ(skb, sk), bytes);
	COUNT(receiver_copies, 1);
	COUNT(receiver_bytes, bytes);
}

PROGRAM("raw_tp/skb_copy_datagram_iovec", BPF_PROG, receiver_copy, received(skb, bytes),
	struct sk_buff *skb, int bytes)

/* Hooks the function that has the tracepoint above in its first line. */
PROGRAM("kprobe/skb_copy_datagram_iter", BPF_KPROBE, receiver_copy_kprobe, received(skb, bytes),
	struct sk_buff *skb, int offset, void *to, int bytes)

/* Times the receiver's copies, for --stages. */
static __always_inline void copy_begin(void)
{
	struct thread *thread = gate == GATE_OPEN ? thread__get() : NULL;

	if (thread && thread->role & ROLE_RECEIVER)
		thread->begun.copy = bpf_ktime_get_ns();
}

static __always_inline void copy_end(void)
{
	__u64 now = bpf_ktime_get_ns();
	struct thread *thread = gate ? thread__peek() : NULL;

	if (!thread || !thread->begun.copy)
		return;
	span__add(SPAN_COPY_OUT, now - thread->begun.copy);
	thread->begun.copy = 0;
}

ON_ENTRY(copy_out, "skb_copy_datagram_iter", copy_begin())
ON_EXIT(copy_out, "skb_copy_datagram_iter", copy_end())
