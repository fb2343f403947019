// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Follows packets from device to device. If copying functions can be hooked, this distinguishes
 * forwarding from local delivery. Otherwise it infers copies, which count only if the kernel flags
 * the completion, except on devices without scatter-gather and by TCP Fast Open.
 */
#include "rx_pending.bpf.h"
#include "taps.bpf.h"
#include "uring.bpf.h"

#define SKBTX_HW_TSTAMP		(1 << 0)
#define SKBTX_ANY_SW_TSTAMP	(1 << 1 | 1 << 6) /* SW, SCHED */
#define SOF_TIMESTAMPING_TX_ACK (1 << 9)
#define SOF_TIMESTAMPING_TSONLY (1 << 11)
#define IFF_BRIDGE_PORT		(1 << 9) /* of priv_flags */

/* True if this kernel forwards without a copy. A forwarded packet is then copied only for a tap. */
const volatile bool forwards_uncopied = false;
/* A packet was forwarded uncopied. Some kernels do so without a function that shows it. */
volatile __u32 forwarded_uncopied;
/*
 * The tasks of packet programs: count packets, follow forwarding, infer copies, see data leave the
 * machine.
 */
const volatile bool counts_packets = false, follows_path = false, infers_copies = false,
		    sees_exit = false;

/*
 * The port of the load's connections, and whether the sender is the end that listens: set before
 * the gate opens.
 */
volatile __u32 load_port;
volatile __u32 sender_listens;

#define TCP_OFFSET_BYTE 12 /* in the header: its upper half is the header's length in words */

static __always_inline bool is_of_load(struct sock *sk)
{
	if (!load_port || !sk || !is_ours(sk))
		return false;
	if (sender_listens)
		return own_port(sk) == load_port;
	return peer_port(sk) == load_port;
}

/* Returns whether the skb is at the first of several stacked devices, not at one below it. */
static __always_inline bool is_first_device(struct sk_buff *skb, struct sock *sk)
{
	struct net_device *device = route_device(sk);

	return !device || device == READ(skb, dev);
}

/* Bytes of application data; 0 in a pure acknowledgement. */
static __always_inline __s32 payload(struct sk_buff *skb)
{
	unsigned char *head = READ(skb, head), *data = READ(skb, data);
	__s32 header = READ(skb, transport_header);
	__u8 words = 0;

	bpf_probe_read_kernel(&words, sizeof(words), head + header + TCP_OFFSET_BYTE);
	return (__s32)READ(skb, len) - (header + (words >> 4) * 4 - (__s32)(data - head));
}

static __always_inline void packet_goes_on(__u32 kind, struct sk_buff *skb)
{
	struct sock *sk = timeline ? READ(skb, sk) : NULL;

	if (timeline__has_packets(sk))
		timeline__packet(kind, sk, bpf_ntohl(tcp_seq(skb)), payload(skb));
}

/*
 * Counts the skbs of a load's sends when they are handed to a device, before segmentation. Softirqs
 * are off.
 */
static __always_inline void count_packet(struct sk_buff *skb)
{
	struct sock *sk = READ(skb, sk);

	if (!is_of_load(sk) || !is_first_device(skb, sk) || payload(skb) <= 0)
		return;
	COUNT(packets, 1);
	COUNT(packet_frags, READ(skb_shared(skb), nr_frags));
}

static __noinline void assume(const struct sighting *seen, enum cause cause, struct net_device *dev,
			      __u16 how)
{
	__u32 counter = cause_counter__index_of(cause, dev);

	cause_counter__add_skbs(counter, seen, 1);
	note__add_bits(&seen->send, counter | how);
}

/* Returns whether the skb's own socket sends it by this device: the skb is then not forwarded. */
static __always_inline bool is_sent_by(struct sock *sk, struct sk_buff *skb)
{
	return route_device(sk) == READ(skb, dev);
}

/*
 * Returns why a forwarded packet was copied when it came in. A router detaches packets from their
 * socket (ip_rcv_core). A bridge does not, and copies nothing.
 */
static __always_inline enum cause cause_of_forwarded(const struct rx_pending *p, bool bridged,
						     __u16 how)
{
	if (bridged)
		return p->tapped || !how ? CAUSE_PACKET_TAP : CAUSE_UNCLASSIFIED;
	return p->tapped && (forwards_uncopied || forwarded_uncopied || !how) ? CAUSE_PACKET_TAP
									      : CAUSE_FORWARDED;
}

/* Like forwarded(), for a send by io_uring. A packet that still has its pages was not copied. */
static __noinline int uring_forwarded(const struct rx_pending *p, struct sk_buff *skb, __u16 how)
{
	__u64 key = p->notification;
	struct notification *n = bpf_map_lookup_elem(&notifications, &key);

	if (!n || n->counter != p->counter)
		return 0;
	if (!uring_sighted(skb))
		n->counter = cause_counter__index_of(cause_of_forwarded(p, READ(skb, sk), how),
						     (void *)p->dev);
	else if (n->copied == SEEN_RECEIVED)
		n->copied = NOT_SEEN_COPIED;
	return 0;
}

/*
 * A packet that came in, and was counted as delivered, goes out again. If the packet's own socket
 * sends it by the socket's own device, it is a retransmission in the same skb.
 */
GLOBAL int forwarded(__u64 packet, __u32 how, __u32 still_shared)
{
	struct rx_pending *p = rx_pending__recall(packet);
	struct sk_buff *skb = (struct sk_buff *)packet;
	struct sock *sk = READ(skb, sk);
	__u32 counter;

	if (!p || (sk && is_sent_by(sk, skb)))
		return 0;
	if (p->notification)
		return uring_forwarded(p, skb, how);
	cause_counter__add_skbs(p->counter, &p->seen, -1);
	note__replace_bits(&p->seen.send, ~0, p->bits, 0);
	/* A router detaches packets from their socket. */
	if (still_shared && !sk)
		forwarded_uncopied = 1;
	if (still_shared || p->counter <= CAUSE_COUNTER_FULL)
		return 0;
	counter = cause_counter__index_of(cause_of_forwarded(p, sk, how), (void *)p->dev);
	cause_counter__add_skbs(counter, &p->seen, 1);
	if (slot__find(&p->seen.send)) /* the send has not completed */
		note__add_bits(&p->seen.send, counter | how);
	return 0;
}

#define TCP_FLAGS_BYTE 13 /* of the header */
#define TCP_SYN	       0x02

/*
 * TCP Fast Open copies the data of a SYN (tcp_send_syn_data) without a flag. The copy is counted at
 * the socket's own device, not at devices below it.
 */
static __always_inline void fast_open(struct sk_buff *skb, const struct sighting *seen)
{
	unsigned char *tcp = (void *)(READ(skb, head) + READ(skb, transport_header));
	__u8 flags = 0;

	if (!is_sent_by(READ(skb, sk), skb))
		return;
	bpf_probe_read_kernel(&flags, sizeof(flags), tcp + TCP_FLAGS_BYTE);
	if (flags & TCP_SYN)
		assume(seen, CAUSE_FAST_OPEN, READ(skb, dev), 0);
}

/* Returns why the kernel computes the checksum for this device; CAUSE_UNCLASSIFIED: it need not. */
static __always_inline enum cause cause_of_checksum(struct sk_buff *skb, struct net_device *dev,
						    __u64 features)
{
	if (!checksums(features, skb))
		return CAUSE_CHECKSUM;
	if (READ_BITFIELD(skb, encapsulation) && !checksums(READ(dev, hw_enc_features), skb))
		return CAUSE_TUNNEL_CHECKSUM;
	return CAUSE_UNCLASSIFIED;
}

/* netem's option corrupt copies packets: it is the cause of a copy that nothing else explains. */
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
 * The kernel does in software what a device cannot do, before it hands over the packet: without
 * scatter-gather it copies all data, mostly without a flag.
 */
static __always_inline void infer_device_copies(struct sk_buff *skb, const struct sighting *seen)
{
	struct net_device *dev = READ(skb, dev);
	__u64 features = READ(dev, features);
	enum cause cause;

	if (!(features & NETIF_F_SG)) {
		assume(seen, CAUSE_NO_SCATTER_GATHER, dev, 0);
		return;
	}
	cause = cause_of_checksum(skb, dev, features);
	if (cause)
		assume(seen, cause, dev, CAUSE_BIT_ASSUMED);
	else if (!is_loopback(dev)) /* loopback is known without a guess */
		note__set_last_device(&seen->send,
				      cause_counter__index_of(cause_of_queue(dev), dev));
}

/* Most loopback devices take all: no copy can be inferred there. No loopback device forwards. */
static __always_inline bool takes_all(struct net_device *dev)
{
	__u64 all = NETIF_F_SG | NETIF_F_HW_CSUM;

	return is_loopback(dev) && (READ(dev, features) & all) == all;
}

SEC("raw_tp/net_dev_queue")
int BPF_PROG(packet_queued, struct sk_buff *skb)
{
	struct sighting seen;
	bool opening, found;
	struct sock *sk;

	if (counts_packets && gate == GATE_OPEN)
		count_packet(skb);
	packet_goes_on(EVENT_QUEUED, skb);
	if (!(follows_path || infers_copies) || !zerocopy_watched())
		return 0;
	sk = READ(skb, sk);
	opening = sk && socket_state_of(sk) == STATE_CONNECTS;
	if (!opening && takes_all(READ(skb, dev)))
		return 0;
	/* If copying functions are hooked, only data of a connection attempt are checked. */
	found = (infers_copies || opening) && sighted(skb, &seen);
	forwarded((__u64)skb, infers_copies ? CAUSE_BIT_ASSUMED : 0, infers_copies && found);
	if (!found)
		return 0;
	if (opening)
		fast_open(skb, &seen);
	if (infers_copies)
		infer_device_copies(skb, &seen);
	return 0;
}

/*
 * Like assume(), for data of a send by io_uring. No flag of a completion confirms the cause, so
 * only what happens to every packet is assumed.
 */
static __noinline void uring_assume(struct notification *n, enum cause cause,
				    struct net_device *dev, enum uring_copies copied)
{
	notification__set_copied(n, copied, cause_counter__index_of(cause, dev));
}

/* Like assume(), for data of any send. n: NULL unless the send is io_uring's. */
static __always_inline void assume_any(struct notification *n, const struct sighting *seen,
				       enum cause cause, struct net_device *dev)
{
	if (n)
		uring_assume(n, cause, dev, SEEN_COPIED);
	else
		assume(seen, cause, dev, CAUSE_BIT_ASSUMED);
}

static __always_inline bool is_tun(struct net_device *dev)
{
	const char *name = READ(dev, rtnl_link_ops, kind);
	char kind[4] = {};

	if (!name) /* loopback and NICs have none */
		return false;
	bpf_probe_read_kernel_str(kind, sizeof(kind), name);
	return kind[0] == 't' && kind[1] == 'u' && kind[2] == 'n' && !kind[3];
}

/*
 * Returns whether a timestamp is requested that the kernel returns with a copy of the packet.
 * A virtual device, which has no parent, makes no hardware timestamps.
 */
static __always_inline bool is_timestamped(struct sk_buff *skb, struct net_device *dev)
{
	__u32 flags = READ(skb, sk, sk_tsflags), wanted;

	if (flags & SOF_TIMESTAMPING_TSONLY)
		return false;
	if (flags & SOF_TIMESTAMPING_TX_ACK)
		return true;
	wanted = READ(skb_shared(skb), tx_flags);
	return wanted & SKBTX_ANY_SW_TSTAMP || (wanted & SKBTX_HW_TSTAMP && READ(dev, dev.parent));
}

/* Uncopied data that reach a device on a bus leave this machine. Virtual devices have no parent. */
SEC("raw_tp/net_dev_start_xmit")
int BPF_PROG(packet_sent, struct sk_buff *skb, struct net_device *dev)
{
	enum { LEAVES = 1, TAPPED = 2, TUN = 4, TIMESTAMPED = 8 };
	struct notification *n = NULL;
	struct sighting seen;
	__u32 facts;

	packet_goes_on(EVENT_HANDED, skb);
	if (!zerocopy_watched() || !skb_uarg(skb))
		return 0;
	/* The device is read first: it mostly decides, so that the socket need not be looked up. */
	facts = sees_exit && READ(dev, dev.parent) ? LEAVES : 0;
	facts |= infers_copies && is_tapped(dev, true) ? TAPPED : 0;
	facts |= infers_copies && is_tun(dev) ? TUN : 0;
	facts |= infers_copies && is_timestamped(skb, dev) ? TIMESTAMPED : 0;
	if (!facts)
		return 0;
	/* If the verifier knew them, it would check what follows once for each combination. */
	facts = opaque(facts);
	if (!sighted(skb, &seen)) {
		n = uring_sighted(skb);
		if (!n)
			return 0;
	}
	if (facts & TAPPED)
		assume_any(n, &seen, CAUSE_PACKET_TAP, dev);
	if (facts & TUN)
		assume_any(n, &seen, CAUSE_TUN, dev);
	if (facts & TIMESTAMPED)
		assume_any(n, &seen, CAUSE_TIMESTAMP, dev);
	if (facts & LEAVES && !n)
		note__add_bits(&seen.send, CAUSE_BIT_LEFT);
	return 0;
}

/* A packet came in by a device that is no port of a bridge: it will be delivered or forwarded. */
static __always_inline void packet_delivered(struct sk_buff *skb, struct net_device *dev,
					     const struct sighting *seen, bool tapped)
{
	__u16 bits = cause_counter__index_of(CAUSE_LOCAL_DELIVERY, dev);
	struct cause_key key = {};

	cause_counter__add_skbs(bits, seen, 1);
	bits |= CAUSE_BIT_ASSUMED | (tapped ? CAUSE_BIT_TAPPED : 0);
	rx_pending__remember((__u64)skb, seen, bits, tapped, 0);
	cause_key__set_device(&key, dev);
	if (!sighting__goes_on(seen, &key, CAUSE_BIT_ASSUMED))
		note__add_bits(&seen->send, bits);
}

SEC("raw_tp/netif_receive_skb")
int BPF_PROG(path_received, struct sk_buff *skb)
{
	struct notification *n = NULL;
	struct net_device *dev;
	struct sighting seen;
	bool tapped;

	if (!zerocopy_watched())
		return 0;
	dev = READ(skb, dev);
	if (!sighted(skb, &seen)) {
		n = uring_sighted(skb);
		if (!n)
			return 0;
	}
	if (is_loopback(dev)) {
		assume_any(n, &seen, CAUSE_LOOPBACK, dev);
		return 0;
	}
	tapped = is_tapped(dev, false);
	/* A bridge forwards the packet, or hands it in again, as received by the bridge itself. */
	if (READ_BITFIELD(dev, priv_flags) & IFF_BRIDGE_PORT) {
		if (tapped)
			assume_any(n, &seen, CAUSE_PACKET_TAP, dev);
	} else if (n) {
		uring_assume(n, CAUSE_LOCAL_DELIVERY, dev, SEEN_RECEIVED);
		rx_pending__remember((__u64)skb, NULL, n->counter, tapped, n->key);
	} else {
		packet_delivered(skb, dev, &seen, tapped);
	}
	return 0;
}
