/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets in this machine's receive path, not yet known to be for a socket here or for another
 * device. What goes on is sent by the same CPU, in the same skb.
 */
#pragma once

#include "causes.bpf.h"

#define PASSING_SLOTS 256

/* A slot for each hash of an skb's address; the next of the same hash takes it over. */
struct passing {
	__u64 skb;
	__u32 seq;     /* TCP's: the address alone may be another packet's by now */
	__u32 counter; /* what was assumed, */
	__u16 bits;    /* the bits that its ubuf got for that, */
	bool tapped;   /* and whether by then a tap had got a copy */
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
	__u64 address = number_of(skb);
	__u32 slot;

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
					      __u16 bits, bool tapped)
{
	struct passing *p = passing__slot(skb);

	if (!p)
		return;
	p->skb = (__u64)skb;
	p->seq = tcp_seq(skb);
	p->counter = bits & CAUSE_BITS_COUNTER;
	p->bits = bits;
	p->tapped = tapped;
	p->seen = *seen;
}

/* Forgets the packet, too; NULL: it was not remembered. */
static __always_inline struct passing *passing__recall(struct sk_buff *skb)
{
	struct passing *p = passing__slot(skb);

	if (!p || p->skb != (__u64)skb || p->seq != tcp_seq(skb))
		return NULL;
	p->skb = 0;
	return p;
}
