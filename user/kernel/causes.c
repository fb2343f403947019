// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kernel/causes.h"

#include <errno.h>
#include <string.h>

/* clang-format off */
static const struct cause_row rows[CAUSES] = {
	[CAUSE_UNCLASSIFIED] = {"unclassified", "a caller that the table of causes lacks",
		"The kernel copied the data; the stack says where.",
		"The functions of the stack tell which part of the kernel asked for the copy."},
	[CAUSE_LOOPBACK] = {"loopback", "loopback",
		"Data for a socket on this machine are copied before it may see them.",
		"Zero-copy cannot help here: send without it; analyze advise --peer tells of "
		"another path."},
	[CAUSE_LOCAL_DELIVERY] = {"local_delivery", "delivery on this machine",
		"The packet came in by a device of this machine, a veth or a mirror, and was "
		"copied for whoever gets it here.",
		"Zero-copy cannot help between sockets of one machine: send without it."},
	[CAUSE_FORWARDED] = {"forwarded", "forwarding by this machine",
		"A router or container host on this machine copied the packet before it sent it "
		"on.",
		"Bridge instead of routing, use a device of the host (macvlan, SR-IOV), or a "
		"newer kernel: 7.2 forwards without a copy."},
	[CAUSE_PACKET_TAP] = {"packet_tap", "tcpdump or another packet tap",
		"Somebody listens to the packets of the device, and the kernel copies each for "
		"it, filtered or not.",
		"Find the listener (ss -0pl) and end it."},
	[CAUSE_TUN] = {"tun", "a tun or tap device",
		"What a tun or tap device sends goes to a program, which may not see pages of "
		"others.",
		"Zero-copy cannot help through such a device: send without it."},
	[CAUSE_TIMESTAMP] = {"tx_timestamp", "transmit timestamps that carry the packet",
		"The program asked for transmit timestamps, and the kernel copies the packet to "
		"tell them with it.",
		"Set SOF_TIMESTAMPING_OPT_TSONLY on the socket."},
	[CAUSE_NO_SCATTER_GATHER] = {"no_scatter_gather", "a device without scatter-gather",
		"The device takes only linear packets, so the kernel copies everything, and "
		"reports a part of it to the application.",
		"ethtool -K DEV sg on, if the device can; else send without zero-copy."},
	[CAUSE_SEGMENTATION] = {"software_segmentation", "segmentation by a tunnel or other software",
		"Something on the way had packets cut into segments that share no pages, which "
		"copies them; the kernel flags some of these copies, or none.",
		"Send without zero-copy through it, or use a tunnel that the NIC can offload."},
	[CAUSE_ROUTE] = {"route_no_scatter_gather", "a socket that may not use scatter-gather",
		"The socket's route rules scatter-gather out (TCP-MD5, for one), so the send "
		"copied its data at once.",
		"ethtool -K DEV sg on, if that is what rules it out; else send without "
		"zero-copy."},
	[CAUSE_CHECKSUM] = {"software_checksum", "checksums made in software",
		"The device offloads no checksums: the processor computes them, for which the "
		"data are copied.",
		"ethtool -K DEV tx on, if the device can."},
	[CAUSE_IPSEC] = {"ipsec", "IPsec",
		"The packet is encrypted by the processor, for which its data are copied.",
		"Zero-copy cannot help unless the NIC does the encryption (xfrm offload)."},
	[CAUSE_LINEARIZED] = {"linearized", "a packet with more frags than the device takes",
		"The kernel made the packet linear before it went to the device.",
		"Send larger, page-aligned fields."},
	[CAUSE_DRIVER] = {"driver", "the device's driver",
		"The driver made the packet linear; some do that with small ones.",
		"Send larger, page-aligned fields; see the driver's settings for copying."},
	[CAUSE_QDISC] = {"qdisc", "the queueing discipline",
		"The device's queueing discipline changes packets, and copies them for it.",
		"Look at tc -s qdisc show dev DEV; netem's corrupt is one that copies."},
	[CAUSE_RETRANSMISSION] = {"retransmission", "retransmission",
		"A segment was retransmitted, and copied for that.",
		"Find out why segments are lost (ss -ti, nstat)."},
	[CAUSE_XDP] = {"xdp", "an XDP program",
		"An XDP program is attached to the device, and the kernel copies each packet "
		"into memory that it may write to, whatever it does.",
		"Detach it (ip link set dev DEV xdp off), or attach it to the NIC instead of a "
		"virtual device."},
	[CAUSE_TC_PROGRAM] = {"tc_program", "a BPF program of tc",
		"A BPF program that tc runs asked for linear data, which copies them.",
		"Find the program (bpftool net) and have it read the headers only."},
	[CAUSE_TUNNEL_CHECKSUM] = {"tunnel_checksum", "checksums inside a tunnel",
		"The device offloads checksums, but not those inside a tunnel (vxlan, GRE, "
		"WireGuard): the processor computes them, for which the data are copied.",
		"Use a tunnel that the NIC can offload (ethtool -k DEV | grep tnl); else send "
		"without zero-copy through it."},
	[CAUSE_MIRROR] = {"mirror", "a mirror of the device's packets",
		"The data left by a NIC without a copy, but tc mirred or a promiscuous bridge "
		"gave the packets to this machine, too, and copied them for that.",
		"Find the mirror (tc filter show; ip -d link show, promiscuity) and end it, or "
		"mirror to a device that sends."},
	[CAUSE_FAST_OPEN] = {"fast_open", "TCP Fast Open",
		"Data that open a connection are copied into its first packet; the kernel flags "
		"that for MSG_FASTOPEN only.",
		"Send without zero-copy until the connection is open."},
};
/* clang-format on */

#define SENT (COPIER_UBUFS | COPIER_PULL | COPIER_DUPLICATE)

const struct cause_site cause_sites[] = {
	{"dev_queue_xmit_nit", NULL, COPIER_UBUFS, DEVICE_ANY, CAUSE_PACKET_TAP},
	{"__skb_tstamp_tx", NULL, COPIER_UBUFS, DEVICE_ANY, CAUSE_TIMESTAMP},
	{"tun_net_xmit", NULL, SENT, DEVICE_ANY, CAUSE_TUN},
	/* Since "net: move skb_orphan_frags_rx() to the local delivery" only taps get it there. */
	{"deliver_skb", NULL, COPIER_UBUFS, DEVICE_LOOPBACK, CAUSE_LOOPBACK},
	{"deliver_skb", NULL, COPIER_UBUFS, DEVICE_ANY, CAUSE_LOCAL_DELIVERY | CAUSE_BY_TAP},
	{"__netif_receive_skb_core", NULL, COPIER_UBUFS, DEVICE_LOOPBACK, CAUSE_LOOPBACK},
	{"ip_local_deliver_finish", NULL, COPIER_UBUFS, DEVICE_LOOPBACK, CAUSE_LOOPBACK},
	{"ip6_input_finish", NULL, COPIER_UBUFS, DEVICE_LOOPBACK, CAUSE_LOOPBACK},
	{"__netif_receive_skb_core", NULL, COPIER_UBUFS, DEVICE_ANY, CAUSE_LOCAL_DELIVERY},
	{"ip_local_deliver_finish", NULL, COPIER_UBUFS, DEVICE_ANY, CAUSE_LOCAL_DELIVERY},
	{"ip6_input_finish", NULL, COPIER_UBUFS, DEVICE_ANY, CAUSE_LOCAL_DELIVERY},
	{"skb_checksum_help", "xfrm_output", COPIER_PULL, DEVICE_ANY, CAUSE_IPSEC},
	{"skb_checksum_help", "netem_enqueue", COPIER_PULL, DEVICE_ANY, CAUSE_QDISC},
	{"esp_output_head", NULL, SENT, DEVICE_ANY, CAUSE_IPSEC},
	{"esp6_output_head", NULL, SENT, DEVICE_ANY, CAUSE_IPSEC},
	{"netem_enqueue", NULL, SENT, DEVICE_ANY, CAUSE_QDISC},
	{"bpf_skb_pull_data", NULL, SENT, DEVICE_ANY, CAUSE_TC_PROGRAM},
	{"cls_bpf_classify", NULL, SENT, DEVICE_ANY, CAUSE_TC_PROGRAM},
	{"skb_pp_cow_data", NULL, COPIER_COW, DEVICE_ANY, CAUSE_XDP},
	{"do_xdp_generic", NULL, SENT, DEVICE_ANY, CAUSE_XDP},
	{"skb_checksum_help", NULL, COPIER_PULL, DEVICE_NO_CHECKSUM, CAUSE_CHECKSUM},
	{"skb_checksum_help", NULL, COPIER_PULL, DEVICE_ANY, CAUSE_TUNNEL_CHECKSUM},
	{"skb_segment", NULL, COPIER_PULL, DEVICE_NO_CHECKSUM, CAUSE_CHECKSUM},
	{"skb_segment", NULL, COPIER_PULL, DEVICE_ANY, CAUSE_TUNNEL_CHECKSUM},
	/* Hooked only where the segments are to do without scatter-gather. */
	{"skb_segment", NULL, COPIER_SEGMENT, DEVICE_NO_SCATTER_GATHER, CAUSE_NO_SCATTER_GATHER},
	{"skb_segment", NULL, COPIER_SEGMENT, DEVICE_ANY, CAUSE_SEGMENTATION},
	{"validate_xmit_skb", NULL, COPIER_PULL, DEVICE_NO_SCATTER_GATHER, CAUSE_NO_SCATTER_GATHER},
	{"validate_xmit_skb", NULL, COPIER_PULL, DEVICE_ANY, CAUSE_LINEARIZED},
	{"__tcp_retransmit_skb", NULL, SENT, DEVICE_ANY, CAUSE_RETRANSMISSION},
	{"dev_hard_start_xmit", NULL, COPIER_PULL | COPIER_DUPLICATE, DEVICE_ANY, CAUSE_DRIVER},
	{NULL, NULL, 0, DEVICE_ANY, CAUSE_UNCLASSIFIED},
};

const struct cause_row *cause__get(enum cause cause)
{
	return &rows[cause < CAUSES ? cause : CAUSE_UNCLASSIFIED];
}

const struct cause_row *cause__words(enum cause cause, bool has_stack)
{
	static const struct cause_row unseen = {
		"unclassified",
		"a copy that was not seen being made",
		"No stack says what copied the data. The device, where one is named, is the last "
		"that was seen to be handed the sender's own pages.",
		"Measure by fentry or kprobes (analyze doctor says what they need), with "
		"kernel.kptr_restrict=0: then the stack says.",
	};

	return cause == CAUSE_UNCLASSIFIED && !has_stack ? &unseen : cause__get(cause);
}

enum cause cause__find(const char *name)
{
	enum cause cause = 0;

	while (cause < CAUSES && strcmp(rows[cause].name, name))
		cause++;
	return cause;
}

/* A row in a kernel's addresses: of each part of the function, called from each of the other. */
static size_t add_sites(const struct cause_site *row, struct call_site *call_sites, size_t room,
			cause_code code, const struct features *f)
{
	struct address_range ranges[2], outer[2] = {};
	size_t outers = row->outer ? code(f, row->outer, outer) : 1;
	size_t found = code(f, row->function, ranges), count = 0, i, j;

	for (i = 0; i < found; i++)
		for (j = 0; j < outers && count < room; j++)
			call_sites[count++] = (struct call_site){.code = ranges[i],
								 .outer = outer[j],
								 .copiers = row->copiers,
								 .device = row->device,
								 .cause = row->cause};
	return count;
}

size_t causes__call_sites(struct call_site *call_sites, size_t max, cause_code code,
			  const struct features *f)
{
	const struct cause_site *row;
	size_t count = 0;

	for (row = cause_sites; row->function; row++)
		count += add_sites(row, call_sites + count, max - count, code, f);
	return count;
}

static const struct refusal_row refusal_rows[REFUSALS] = {
	[REFUSAL_OPTMEM] =
		{"optmem", ENOBUFS,
		 "the socket has as many notifications unread or under way as optmem allows",
		 "Read the error queue more often, or raise net.core.optmem_max."},
	[REFUSAL_MEMLOCK] = {"memlock", ENOBUFS,
			     "the user has as many pages pinned as RLIMIT_MEMLOCK allows",
			     "Have less in flight, or raise the limit (ulimit -l)."},
	[REFUSAL_ENOBUFS] = {"optmem_or_memlock", ENOBUFS,
			     "no room in optmem or in locked memory; which, had changed a moment "
			     "later",
			     "Read the error queue more often; raise net.core.optmem_max and "
			     "ulimit -l."},
	[REFUSAL_UNSUPPORTED] = {"not_supported", EOPNOTSUPP,
				 "what the socket runs over TCP (kTLS) does not take MSG_ZEROCOPY",
				 "Send without it there."},
	[REFUSAL_FULL] = {"send_buffer_full", EAGAIN, "the send buffer had no room",
			  "Wait until the socket is writable (poll)."},
	[REFUSAL_OTHER] = {"failed", 0, "the send failed", "See its error."},
};

const struct refusal_row *refusal__get(enum refusal refusal)
{
	return &refusal_rows[refusal];
}

enum refusal refusal__of(int error)
{
	enum refusal refusal = REFUSAL_ENOBUFS;

	while (refusal < REFUSAL_OTHER && refusal_rows[refusal].error != error)
		refusal++;
	return refusal;
}

const struct refusal_row *refusal__find(const char *name)
{
	size_t i;

	for (i = 0; i < REFUSALS; i++)
		if (!strcmp(refusal_rows[i].name, name))
			return &refusal_rows[i];
	return NULL;
}
