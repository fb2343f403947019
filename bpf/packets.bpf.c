// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * skbs of a load's sends, as they are handed to a device, before segmentation. They come in any
 * context: the port identifies the load.
 */
#include "zerocopy.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* The port the load's connections go to, and which end of them sends: set before the gate opens. */
volatile __u32 load_port;
volatile __u32 sender_listens;

#define TCP_OFFSET_BYTE 12 /* of the header: its length in words in the upper half */

static __always_inline bool is_of_load(struct sock *sk)
{
	if (!load_port || !sk || !is_tcp(sk))
		return false;
	if (sender_listens)
		return BPF_CORE_READ(sk, __sk_common.skc_num) == load_port;
	return bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport)) == load_port;
}

/* Of stacked devices the first: the others get what it makes of the skb. */
static __always_inline bool is_first_device(struct sk_buff *skb, struct sock *sk)
{
	struct dst_entry *route = BPF_CORE_READ(sk, sk_dst_cache);

	return !route || BPF_CORE_READ(route, dev) == BPF_CORE_READ(skb, dev);
}

/* Bytes of the application's data; 0 of a mere acknowledgement. */
static __always_inline __s32 payload(struct sk_buff *skb)
{
	const unsigned char *head = BPF_CORE_READ(skb, head), *data = BPF_CORE_READ(skb, data);
	const unsigned char *tcp = head + BPF_CORE_READ(skb, transport_header);
	__u8 words = 0;

	bpf_probe_read_kernel(&words, sizeof(words), tcp + TCP_OFFSET_BYTE);
	return (__s32)BPF_CORE_READ(skb, len) - (__s32)(tcp + (words >> 4) * 4 - data);
}

/* args: skb. Softirqs are off here: nothing interrupts it on its CPU. */
SEC("raw_tp/net_dev_queue")
int packet_queued(struct bpf_raw_tracepoint_args *ctx)
{
	struct sk_buff *skb = (struct sk_buff *)ctx->args[0];
	struct totals *t;
	struct sock *sk;

	if (gate != GATE_OPEN)
		return 0;
	sk = BPF_CORE_READ(skb, sk);
	if (!is_of_load(sk) || !is_first_device(skb, sk) || payload(skb) <= 0)
		return 0;
	t = totals__get();
	if (!t)
		return 0;
	t->packets++;
	t->packet_frags += BPF_CORE_READ(skb_shared(skb), nr_frags);
	return 0;
}
