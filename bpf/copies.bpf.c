// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Copies of what is in an skb: by the kernel on its way, and to the receiver's memory. */
#include "zerocopy.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/*
 * skb_copy_ubufs replaces user pages by copies. It runs in any context, so it is
 * the socket that tells whose data these are.
 */
static __always_inline void deep_copy(struct sk_buff *skb)
{
	void *uarg = skb_uarg(skb);
	struct totals *t;
	__u64 sk;

	if (!uarg)
		return;
	sk = (__u64)uarg_sock(uarg);
	t = totals__get();
	if (!t || !bpf_map_lookup_elem(&sockets, &sk))
		return;
	t->deep_copies++;
	t->deep_copy_bytes += BPF_CORE_READ(skb, data_len);
}

SEC("fentry/skb_copy_ubufs")
int BPF_PROG(deep_copy_fentry, struct sk_buff *skb)
{
	if (gate)
		deep_copy(skb);
	return 0;
}

SEC("kprobe/skb_copy_ubufs")
int BPF_KPROBE(deep_copy_kprobe, struct sk_buff *skb)
{
	if (gate)
		deep_copy(skb);
	return 0;
}

/*
 * The receiver's copy, in its own context. Other families copy by the same function.
 * An skb of TCP's queue belongs to its socket; its protocol tells nothing where the
 * queue was collapsed to save memory.
 */
static __always_inline void received(struct sk_buff *skb, int bytes)
{
	struct thread *thread = gate ? thread__get() : NULL;
	struct totals *t;

	if (!thread || thread->role != ROLE_RECEIVER || !is_tcp(BPF_CORE_READ(skb, sk)))
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
