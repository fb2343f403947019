// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "state.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/*
 * The receiver's copy, from skb to its memory. Other families use the same function. A TCP skb
 * belongs to its socket; its protocol field is not set where the queue was collapsed.
 */
static __always_inline void received(struct sk_buff *skb, int bytes)
{
	struct thread *thread = gate == GATE_OPEN ? thread__get() : NULL;
	struct totals *t;

	if (!thread || !(thread->role & ROLE_RECEIVER) || !is_tcp(BPF_CORE_READ(skb, sk)))
		return;
	t = totals__get();
	if (!t)
		return;
	t->receiver_copies++;
	t->receiver_bytes += bytes;
}

/* args: skb, len */
SEC("raw_tp/skb_copy_datagram_iovec")
int receiver_copy(struct bpf_raw_tracepoint_args *ctx)
{
	received((struct sk_buff *)ctx->args[0], ctx->args[1]);
	return 0;
}

/* The function that has this tracepoint in its first line. */
SEC("kprobe/skb_copy_datagram_iter")
int BPF_KPROBE(receiver_copy_kprobe, struct sk_buff *skb, int offset, void *to, int bytes)
{
	received(skb, bytes);
	return 0;
}
