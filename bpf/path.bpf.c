// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The path of packets from device to device, by tracepoints. Where copying functions can be hooked,
 * it distinguishes forwarding from local delivery. Where they cannot, it infers copies: each rule
 * is what the kernel always does with such a packet on such a device, and all but one count only if
 * the kernel flags the completion.
 */
#include "passing.bpf.h"
#include "taps.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define SKBTX_ANY_SW_TSTAMP	(1 << 0 | 1 << 1 | 1 << 6) /* HW, SW, SCHED */
#define SOF_TIMESTAMPING_TX_ACK (1 << 9)
#define SOF_TIMESTAMPING_TSONLY (1 << 11)
#define IFF_BRIDGE_PORT		(1 << 9) /* of priv_flags */

/* Does this kernel forward without a copy, so that a tap is what makes one? */
const volatile bool forwards_uncopied = false;

static __always_inline void assume(const struct sighting *seen, enum cause cause,
				   struct net_device *dev, __u16 how)
{
	__u32 counter = cause_counter__index_of(cause, (__u64)dev);

	cause_counter__add_skbs(counter, seen, 1);
	ubuf__add_bits(&seen->ubuf, counter | how);
}

/* Is it this skb's socket that sends by its device, and nobody who forwards it? */
static __always_inline bool is_sent_by(struct sock *sk, struct sk_buff *skb)
{
	return BPF_CORE_READ(sk, sk_dst_cache, dev) == BPF_CORE_READ(skb, dev);
}

/*
 * Why a packet that goes on was copied when it came in. A router takes packets from their
 * socket (ip_rcv_core), a bridge does not, and copies nothing.
 */
static __always_inline enum cause cause_of_forwarded(const struct passing *p, bool bridged,
						     __u16 how)
{
	if (bridged)
		return p->tapped || !how ? CAUSE_PACKET_TAP : CAUSE_UNCLASSIFIED;
	return p->tapped && (forwards_uncopied || !how) ? CAUSE_PACKET_TAP : CAUSE_FORWARDED;
}

/*
 * A packet that came in, and was counted as delivered, goes out again. What its socket sends by its
 * own device is a retransmission, in the same skb.
 */
static __always_inline void forwarded(struct sk_buff *skb, __u16 how, bool still_shared)
{
	struct passing *p = passing__recall(skb);
	struct sock *sk = BPF_CORE_READ(skb, sk);
	struct cause_info info = {};
	struct cause_info *delivered;
	__u32 counter;

	if (!p || (sk && is_sent_by(sk, skb)))
		return;
	cause_counter__add_skbs(p->counter, &p->seen, -1);
	ubuf__clear_bits(&p->seen.ubuf, p->bits);
	delivered = still_shared ? NULL : bpf_map_lookup_elem(&cause_infos, &p->counter);
	if (!delivered)
		return;
	info = *delivered;
	info.key.cause = cause_of_forwarded(p, sk, how);
	counter = cause_counter__find_index(&info);
	cause_counter__add_skbs(counter, &p->seen, 1);
	ubuf__add_bits(&p->seen.ubuf, counter | how);
}

#define TCP_FLAGS_BYTE 13 /* of the header */
#define TCP_SYN	       0x02

/*
 * TCP Fast Open copies the data of a SYN (tcp_send_syn_data), and does not flag that. Counted at
 * the socket's own device, not at those below.
 */
static __always_inline void fast_open(struct sk_buff *skb, const struct sighting *seen)
{
	const unsigned char *tcp = BPF_CORE_READ(skb, head) + BPF_CORE_READ(skb, transport_header);
	struct sock *sk = BPF_CORE_READ(skb, sk);
	__u8 flags = 0;
	__u32 counter;

	bpf_probe_read_kernel(&flags, sizeof(flags), tcp + TCP_FLAGS_BYTE);
	if (!(flags & TCP_SYN) || !sk || !is_sent_by(sk, skb))
		return;
	counter = cause_counter__index_of(CAUSE_FAST_OPEN, (__u64)BPF_CORE_READ(skb, dev));
	cause_counter__add_skbs(counter, seen, 1);
	ubuf__add_bits(&seen->ubuf, counter);
}

/* args: skb. Beside the hooks of the copying functions. */
SEC("raw_tp/net_dev_queue")
int path_onwards(struct bpf_raw_tracepoint_args *ctx)
{
	struct sk_buff *skb = (struct sk_buff *)ctx->args[0];
	struct sighting seen;

	if (!sockets_watched())
		return 0;
	forwarded(skb, 0, false);
	if (sighted(skb, &seen))
		fast_open(skb, &seen);
	return 0;
}

/* Does the kernel make checksums for what this device sends? If so, why? */
static __always_inline enum cause cause_of_checksum(struct sk_buff *skb, struct net_device *dev,
						    __u64 features)
{
	if (!(features & NETIF_F_CSUM))
		return CAUSE_CHECKSUM;
	if (BPF_CORE_READ_BITFIELD_PROBED(skb, encapsulation) &&
	    !(BPF_CORE_READ(dev, hw_enc_features) & NETIF_F_CSUM))
		return CAUSE_TUNNEL_CHECKSUM;
	return CAUSE_UNCLASSIFIED;
}

/* netem's corrupt copies packets: it is the cause of a copy that nothing else explains. */
static __always_inline enum cause cause_of_queue(struct net_device *dev)
{
	static const char netem[] = "netem";
	char name[sizeof(netem)] = {};
	__u32 i;

	BPF_CORE_READ_STR_INTO(&name, dev, qdisc, ops, id);
	for (i = 0; i < sizeof(netem); i++)
		if (name[i] != netem[i])
			return CAUSE_UNCLASSIFIED;
	return CAUSE_QDISC;
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
	enum cause cause;
	__u64 features;
	bool ours;

	if (!sockets_watched())
		return 0;
	ours = sighted(skb, &seen);
	forwarded(skb, CAUSE_BIT_ASSUMED, ours);
	dev = ours ? BPF_CORE_READ(skb, dev) : NULL;
	if (!dev)
		return 0;
	fast_open(skb, &seen);
	features = BPF_CORE_READ(dev, features);
	if (!(features & NETIF_F_SG)) {
		assume(&seen, CAUSE_NO_SCATTER_GATHER, dev, 0);
		return 0;
	}
	cause = cause_of_checksum(skb, dev, features);
	if (cause)
		assume(&seen, cause, dev, CAUSE_BIT_ASSUMED);
	else if (!(BPF_CORE_READ(dev, flags) & IFF_LOOPBACK)) /* which needs no guess */
		ubuf__set_last_device(&seen.ubuf,
				      cause_counter__index_of(cause_of_queue(dev), (__u64)dev));
	return 0;
}

static __always_inline bool is_tun(struct net_device *dev)
{
	const char *name = BPF_CORE_READ(dev, rtnl_link_ops, kind);
	char kind[4] = {};

	bpf_probe_read_kernel_str(kind, sizeof(kind), name);
	return kind[0] == 't' && kind[1] == 'u' && kind[2] == 'n' && !kind[3];
}

/* A timestamp that is reported with the packet copies it. */
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

	if (!sockets_watched() || !sighted(skb, &seen))
		return 0;
	if (is_tapped(dev))
		assume(&seen, CAUSE_PACKET_TAP, dev, CAUSE_BIT_ASSUMED);
	if (is_tun(dev))
		assume(&seen, CAUSE_TUN, dev, CAUSE_BIT_ASSUMED);
	if (is_timestamped(skb))
		assume(&seen, CAUSE_TIMESTAMP, dev, CAUSE_BIT_ASSUMED);
	return 0;
}

/*
 * args: skb, dev. Uncopied data reach a device on a bus: it leaves this machine. Virtual devices
 * have no parent.
 */
SEC("raw_tp/net_dev_start_xmit")
int path_left(struct bpf_raw_tracepoint_args *ctx)
{
	struct net_device *dev = (struct net_device *)ctx->args[1];
	struct sighting seen;

	if (sockets_watched() && sighted((struct sk_buff *)ctx->args[0], &seen) &&
	    BPF_CORE_READ(dev, dev.parent))
		ubuf__add_bits(&seen.ubuf, CAUSE_BIT_LEFT);
	return 0;
}

/* A bridge forwards it, or hands it in again as come in by itself. */
static __always_inline bool is_bridge_port(struct net_device *dev)
{
	return BPF_CORE_READ_BITFIELD_PROBED(dev, priv_flags) & IFF_BRIDGE_PORT;
}

/* args: skb */
SEC("raw_tp/netif_receive_skb")
int path_received(struct bpf_raw_tracepoint_args *ctx)
{
	struct sk_buff *skb = (struct sk_buff *)ctx->args[0];
	struct cause_info info = {};
	struct net_device *dev;
	struct sighting seen;
	bool tapped;
	__u16 bits;

	if (!sockets_watched() || !sighted(skb, &seen))
		return 0;
	dev = BPF_CORE_READ(skb, dev);
	if (BPF_CORE_READ(dev, flags) & IFF_LOOPBACK) {
		assume(&seen, CAUSE_LOOPBACK, dev, CAUSE_BIT_ASSUMED);
		return 0;
	}
	tapped = is_tapped(dev);
	if (is_bridge_port(dev)) {
		if (tapped)
			assume(&seen, CAUSE_PACKET_TAP, dev, CAUSE_BIT_ASSUMED);
		return 0;
	}
	info.key.cause = CAUSE_LOCAL_DELIVERY;
	cause_info__set_device(&info, dev);
	bits = cause_counter__find_index(&info);
	cause_counter__add_skbs(bits, &seen, 1);
	bits |= CAUSE_BIT_ASSUMED | (tapped ? CAUSE_BIT_TAPPED : 0);
	passing__remember(skb, &seen, bits, tapped);
	if (!ubuf__goes_on(&seen.ubuf, &info.key, CAUSE_BIT_ASSUMED))
		ubuf__add_bits(&seen.ubuf, bits);
	return 0;
}
