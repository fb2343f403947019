/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets in this machine's receive path that may still go to a local socket or to another device.
 * A forwarded packet is sent by the same CPU, in the same skb.
 */
#pragma once

#include "causes.bpf.h"

#define RX_PENDING_SLOTS 256

/* The hash of an skb's address gives its slot; the next packet with this hash replaces it. */
struct rx_pending {
	__u64 skb;
	__u64 dev;	    /* device by which the skb came in */
	__u32 seq;	    /* TCP's sequence number, because the address may be reused */
	__u32 counter;	    /* of the assumed cause */
	__u16 bits;	    /* that were added to its ubuf's note for this packet */
	bool tapped;	    /* a tap had got a copy before */
	__u64 notification; /* of the send, if io_uring made it; 0: `seen` has the send */
	struct sighting seen;
};

PERCPU_ARRAY(rx_pending, RX_PENDING_SLOTS, struct rx_pending);

static __always_inline struct rx_pending *rx_pending__slot(__u64 skb)
{
	/* skbs are about 256 bytes apart. */
	__u32 slot = (skb >> 6 ^ skb >> 14) % RX_PENDING_SLOTS;

	return bpf_map_lookup_elem(&rx_pending, &slot);
}

/* Sequence number of the first byte, in network order. */
static __always_inline __u32 tcp_seq(struct sk_buff *skb)
{
	struct tcphdr *tcp = (void *)(READ(skb, head) + READ(skb, transport_header));

	return READ(tcp, seq);
}

/* seen: NULL if the data are those of a send by io_uring, with this notification. */
static __always_inline void rx_pending__remember(__u64 skb, const struct sighting *seen, __u16 bits,
						 bool tapped, __u64 notification)
{
	struct rx_pending *p = rx_pending__slot(skb);

	if (!p)
		return;
	p->skb = skb;
	p->dev = (__u64)READ((struct sk_buff *)skb, dev);
	p->seq = tcp_seq((void *)skb);
	p->counter = bits & CAUSE_BITS_COUNTER;
	p->bits = bits;
	p->tapped = tapped;
	p->notification = notification;
	if (seen)
		p->seen = *seen;
}

/* Returns the remembered packet and forgets it; NULL: it was not remembered. */
static __always_inline struct rx_pending *rx_pending__recall(__u64 skb)
{
	struct rx_pending *p = rx_pending__slot(skb);

	if (!p || p->skb != skb || p->seq != tcp_seq((void *)skb))
		return NULL;
	p->skb = 0;
	return p;
}
