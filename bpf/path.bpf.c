// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The path of packets from device to device, by tracepoints. Where the copying
 * functions can be hooked, it tells what was forwarded from what was delivered
 * here. Where they cannot, it tells what must have been copied: each rule is what
 * the kernel always does with such a packet on such a device, and all but one count
 * only for completions that the kernel flags.
 */
#include "causes.bpf.h"
#include "passing.bpf.h"
#include "skb.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define SKBTX_ANY_SW_TSTAMP	(1 << 0 | 1 << 1 | 1 << 6) /* HW, SW, SCHED */
#define SOF_TIMESTAMPING_TX_ACK (1 << 9)
#define SOF_TIMESTAMPING_TSONLY (1 << 11)

/* The kernel's list of packet taps of all devices and namespaces; 0 where it has none, or hides it.
 */
const volatile __u64 ptype_all_address = 0;

/* "net: introduce per netns packet chains" (6.16) */
struct net___with_taps {
	struct list_head ptype_all;
} __attribute__((preserve_access_index));

static __always_inline void assume(const struct sighting *seen, enum cause cause,
				   struct net_device *dev, __u16 how)
{
	__u32 tally = tally__of(cause, dev);

	tally__add(tally, seen, 1);
	run__mark(&seen->run, tally | how);
}

/*
 * A packet that came in goes out again. It had been counted as delivered: if it was
 * copied, then for being forwarded. A router takes packets from their socket first
 * (ip_rcv_core): what still has one is sent by it once more, a retransmission in the
 * same skb.
 */
static __always_inline void forwarded(struct sk_buff *skb, __u16 how, bool still_shared)
{
	struct passing *p = passing__recall(skb);
	struct tally_info info = {};
	struct tally_info *delivered;
	__u32 tally;

	if (!p || BPF_CORE_READ(skb, sk))
		return;
	tally__add(p->tally, &p->seen, -1);
	run__unmark(&p->seen.run, p->tally | how);
	delivered = still_shared ? NULL : bpf_map_lookup_elem(&tally_infos, &p->tally);
	if (!delivered)
		return;
	info = *delivered;
	info.key.cause = CAUSE_FORWARDED;
	tally = tally__find(&info);
	tally__add(tally, &p->seen, 1);
	run__mark(&p->seen.run, tally | how);
}

/* args: skb. Beside the hooks of the copying functions. */
SEC("raw_tp/net_dev_queue")
int path_onwards(struct bpf_raw_tracepoint_args *ctx)
{
	if (gate)
		forwarded((struct sk_buff *)ctx->args[0], 0, false);
	return 0;
}

/*
 * args: skb. What a device cannot do, the kernel does in software before it sends:
 * without scatter-gather by a copy of everything, most of it unflagged.
 */
SEC("raw_tp/net_dev_queue")
int path_queued(struct bpf_raw_tracepoint_args *ctx)
{
	struct sk_buff *skb = (struct sk_buff *)ctx->args[0];
	struct net_device *dev;
	struct sighting seen;
	__u64 features;
	bool ours;

	if (!gate)
		return 0;
	ours = sighted(skb, &seen);
	forwarded(skb, MARK_ASSUMED, ours);
	dev = ours ? BPF_CORE_READ(skb, dev) : NULL;
	if (!dev)
		return 0;
	features = BPF_CORE_READ(dev, features);
	if (!(features & NETIF_F_SG))
		assume(&seen, CAUSE_NO_SCATTER_GATHER, dev, 0);
	else if (!(features & NETIF_F_CSUM))
		assume(&seen, CAUSE_CHECKSUM, dev, MARK_ASSUMED);
	return 0;
}

static __always_inline bool has_entries(struct list_head *list)
{
	return BPF_CORE_READ(list, next) != list;
}

/* Does anybody get a copy of what this device sends? */
static __always_inline bool is_tapped(struct net_device *dev)
{
	struct net___with_taps *net = (void *)BPF_CORE_READ(dev, nd_net.net);

	if (has_entries((void *)dev + bpf_core_field_offset(dev->ptype_all)))
		return true;
	if (bpf_core_field_exists(net->ptype_all) &&
	    has_entries((void *)net + bpf_core_field_offset(net->ptype_all)))
		return true;
	return ptype_all_address && has_entries((struct list_head *)ptype_all_address);
}

static __always_inline bool is_tun(struct net_device *dev)
{
	const char *name = BPF_CORE_READ(dev, rtnl_link_ops, kind);
	char kind[4] = {};

	bpf_probe_read_kernel_str(kind, sizeof(kind), name);
	return kind[0] == 't' && kind[1] == 'u' && kind[2] == 'n' && !kind[3];
}

/* A timestamp that is told with the packet: the packet is copied for it. */
static __always_inline bool is_timestamped(struct sk_buff *skb)
{
	__u32 flags = BPF_CORE_READ(skb, sk, sk_tsflags);

	if (flags & SOF_TIMESTAMPING_TSONLY)
		return false;
	return flags & SOF_TIMESTAMPING_TX_ACK ||
	       BPF_CORE_READ(skb_shared(skb), tx_flags) & SKBTX_ANY_SW_TSTAMP;
}

/* args: skb, dev */
SEC("raw_tp/net_dev_start_xmit")
int path_sent(struct bpf_raw_tracepoint_args *ctx)
{
	struct sk_buff *skb = (struct sk_buff *)ctx->args[0];
	struct net_device *dev = (struct net_device *)ctx->args[1];
	struct sighting seen;

	if (!gate || !sighted(skb, &seen))
		return 0;
	if (is_tapped(dev))
		assume(&seen, CAUSE_PACKET_TAP, dev, MARK_ASSUMED);
	if (is_tun(dev))
		assume(&seen, CAUSE_TUN, dev, MARK_ASSUMED);
	if (is_timestamped(skb))
		assume(&seen, CAUSE_TIMESTAMP, dev, MARK_ASSUMED);
	return 0;
}

/* args: skb */
SEC("raw_tp/netif_receive_skb")
int path_received(struct bpf_raw_tracepoint_args *ctx)
{
	struct sk_buff *skb = (struct sk_buff *)ctx->args[0];
	struct tally_info info = {};
	struct net_device *dev;
	struct sighting seen;
	__u32 tally;

	if (!gate || !sighted(skb, &seen))
		return 0;
	dev = BPF_CORE_READ(skb, dev);
	if (BPF_CORE_READ(dev, flags) & IFF_LOOPBACK) {
		assume(&seen, CAUSE_LOOPBACK, dev, MARK_ASSUMED);
		return 0;
	}
	info.key.cause = CAUSE_LOCAL_DELIVERY;
	tally__device(&info, dev);
	tally = tally__find(&info);
	tally__add(tally, &seen, 1);
	passing__remember(skb, &seen, tally);
	if (!run__goes_on(&seen.run, &info.key, MARK_ASSUMED))
		run__mark(&seen.run, tally | MARK_ASSUMED);
	return 0;
}
