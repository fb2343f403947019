/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets that passed into this machine's receive path: whether they are for a
 * socket here or go on to another device is not known yet. What goes on is sent
 * again by the same CPU, in the same skb.
 */
#pragma once

#include "causes.bpf.h"

#define PASSING_SLOTS 256

/* A slot for each hash of an skb's address; the next of the same hash takes it over. */
struct passing {
	__u64 skb;
	__u32 seq;   /* TCP's: the address alone may be another packet's by now */
	__u32 tally; /* what was assumed, */
	__u16 mark;  /* how its run was marked for that, */
	bool tapped; /* and whether by then a tap had got a copy */
	struct sighting seen;
};

struct passing_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PASSING_SLOTS);
	__type(key, __u32);
	__type(value, struct passing);
};
extern struct passing_map passing SEC(".maps");

static __always_inline struct passing *passing__slot(struct sk_buff *skb)
{
	__u64 address;
	__u32 slot;

	/* A number, with which the verifier lets one reckon: with a pointer it does not. */
	bpf_probe_read_kernel(&address, sizeof(address), &skb);
	/* skbs lie 256 bytes apart or so. */
	slot = (address >> 6 ^ address >> 14) % PASSING_SLOTS;
	return bpf_map_lookup_elem(&passing, &slot);
}

static __always_inline __u32 tcp_seq(struct sk_buff *skb)
{
	struct tcphdr *tcp =
		(void *)(BPF_CORE_READ(skb, head) + BPF_CORE_READ(skb, transport_header));

	return BPF_CORE_READ(tcp, seq);
}

static __always_inline void passing__remember(struct sk_buff *skb, const struct sighting *seen,
					      __u16 mark, bool tapped)
{
	struct passing *p = passing__slot(skb);

	if (!p)
		return;
	p->skb = (__u64)skb;
	p->seq = tcp_seq(skb);
	p->tally = mark & MARK_TALLY;
	p->mark = mark;
	p->tapped = tapped;
	p->seen = *seen;
}

/* Where it was remembered, which it then is no more; or NULL. */
static __always_inline struct passing *passing__recall(struct sk_buff *skb)
{
	struct passing *p = passing__slot(skb);

	if (!p || p->skb != (__u64)skb || p->seq != tcp_seq(skb))
		return NULL;
	p->skb = 0;
	return p;
}
