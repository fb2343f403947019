# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The causes for which data of zero-copy sends are copied, or zero-copy sends are refused.

analysis/tables/generate.py generates C from them; docs/causes.md has a row for each cause.
"""

from typing import NamedTuple, Optional


class Cause(NamedTuple):
    symbol: str      # CAUSE_... in C
    name: str        # in the run record
    title: str       # for people
    meaning: str     # one sentence: what the kernel does
    remedy: str      # one sentence: what helps, or that nothing helps
    final: bool = False  # whether no setting prevents the copies, because they depend on the destination


# A cause's place in this list is its number in the kernel programs.
CAUSES = (
    Cause("UNCLASSIFIED", "unclassified", "a caller that the table of causes lacks",
          "The kernel copied the data; the stack says where.",
          "Find the part of the kernel that requested the copy in the stack."),
    Cause("LOOPBACK", "loopback", "loopback",
          "The kernel copies data for a socket on this machine before it delivers them.",
          "Zero-copy cannot help here: send without it, or try another path: analyze advise "
          "--peer.", final=True),
    Cause("LOCAL_DELIVERY", "local_delivery", "delivery on this machine",
          "The packet arrived on a veth or a mirror of this machine, and the kernel copied it for "
          "its receiver here.",
          "Zero-copy cannot help between sockets of one machine: send without it.", final=True),
    Cause("FORWARDED", "forwarded", "forwarding by this machine",
          "This machine, as a router or container host, copied the packet before forwarding it.",
          "Use a bridge instead of a router, a device of the host (macvlan, SR-IOV), or kernel 6.18, "
          "which forwards without a copy."),
    Cause("PACKET_TAP", "packet_tap", "tcpdump or another packet tap",
          "A packet socket is open on the device, and the kernel copies each packet for it, whether "
          "or not its filter accepts the packet.",
          "Find the listener (ss -0pl) and end it."),
    Cause("TUN", "tun", "a tun or tap device",
          "A tun or tap device passes the packets to a program, and the kernel copies them for it.",
          "Zero-copy cannot help through such a device: send without it.", final=True),
    Cause("TIMESTAMP", "tx_timestamp", "transmit timestamps that carry the packet",
          "The program requested transmit timestamps, and the kernel returns each with a copy of "
          "the packet.",
          "Set SOF_TIMESTAMPING_OPT_TSONLY on the socket."),
    Cause("NO_SCATTER_GATHER", "no_scatter_gather", "a device without scatter-gather",
          "The device takes only linear packets, so the kernel copies all data, and flags only some "
          "of the copies.",
          "ethtool -K DEV sg on, if the device can; else send without zero-copy."),
    Cause("SEGMENTATION", "software_segmentation", "segmentation by a tunnel or other software",
          "A tunnel or similar device needs packets segmented in software, which copies them; the "
          "kernel flags few of these copies, or none.",
          "Send without zero-copy through it, or use a tunnel that the NIC can offload."),
    Cause("ROUTE", "route_no_scatter_gather", "a socket that may not use scatter-gather",
          "The socket's route excludes scatter-gather (as TCP-MD5 can), so the send copied its data "
          "at once.",
          "ethtool -K DEV sg on, if the device lacks it; else send without zero-copy."),
    Cause("CHECKSUM", "software_checksum", "checksums made in software",
          "The device does not offload checksums: the CPU computes them, and the kernel copies the "
          "data for that.",
          "ethtool -K DEV tx on, if the device can."),
    Cause("IPSEC", "ipsec", "IPsec",
          "The CPU encrypts the packet, and the kernel copies the data for that.",
          "Zero-copy cannot help unless the NIC does the encryption (xfrm offload)."),
    Cause("LINEARIZED", "linearized", "a packet with more frags than the device takes",
          "The kernel made the packet linear before it went to the device.",
          "Send larger, page-aligned fields."),
    Cause("DRIVER", "driver", "the device's driver",
          "The driver made the packet linear; some drivers do so with small packets.",
          "Send larger, page-aligned fields; see the driver's settings for copying."),
    Cause("QDISC", "qdisc", "the queueing discipline",
          "The queueing discipline modifies packets, and the kernel copies them for that.",
          "Look at tc -s qdisc show dev DEV; netem's corrupt is one that copies."),
    Cause("RETRANSMISSION", "retransmission", "retransmission",
          "The kernel copied a segment to retransmit it.",
          "Find out why segments are lost (ss -ti, nstat)."),
    Cause("XDP", "xdp", "an XDP program",
          "An XDP program is attached to the device, and the kernel copies each packet into memory "
          "that the program may write to.",
          "Detach it (ip link set dev DEV xdp off), or attach it to the NIC instead of a "
          "virtual device."),
    Cause("TC_PROGRAM", "tc_program", "a BPF program of tc",
          "A BPF program of tc requested linear data, which copies them.",
          "Find the program (bpftool net), and change it to read headers only."),
    Cause("TUNNEL_CHECKSUM", "tunnel_checksum", "checksums inside a tunnel",
          "The device offloads checksums, but not those inside a tunnel (vxlan, GRE, WireGuard): "
          "the CPU computes them, and the kernel copies the data for that.",
          "Use a tunnel that the NIC can offload (ethtool -k DEV | grep tnl); else send without"
          " zero-copy through it."),
    Cause("MIRROR", "mirror", "a mirror of the device's packets",
          "The data left by a NIC without a copy, but tc mirred or a promiscuous bridge also "
          "delivered the packets to this machine, which copied them.",
          "Find the mirror (tc filter show; ip -d link show, promiscuity), and remove it or mirror "
          "to a device that sends."),
    Cause("FAST_OPEN", "fast_open", "TCP Fast Open",
          "The kernel copies data that open a connection into its first packet, and flags that for "
          "MSG_FASTOPEN only.",
          "Send without zero-copy until the connection is open."),
)


class Site(NamedTuple):
    function: str              # a function that calls the copier, directly or indirectly
    outer: Optional[str]       # another function further out in the stack; None: any
    copiers: str               # a set of COPIER_... of bpf/abi.h, such as SENT
    device: str                # DEVICE_... of bpf/abi.h
    cause: str                 # the symbol of the Cause
    by_tap: bool = False       # whether the kernel delivers to taps at this site, before it routes the packet


SENT = "COPIER_UBUFS | COPIER_PULL | COPIER_DUPLICATE"

# The call sites that identify causes. If one can be inside another, the inner one is first.
SITES = (
    Site("dev_queue_xmit_nit", None, "COPIER_UBUFS", "ANY", "PACKET_TAP"),
    Site("__skb_tstamp_tx", None, "COPIER_UBUFS", "ANY", "TIMESTAMP"),
    Site("tun_net_xmit", None, SENT, "ANY", "TUN"),
    # Since "net: move skb_orphan_frags_rx() to the local delivery", only taps get packets at this site.
    Site("deliver_skb", "dev_queue_xmit_nit", "COPIER_UBUFS", "ANY", "PACKET_TAP"),
    Site("deliver_skb", None, "COPIER_UBUFS", "LOOPBACK", "LOOPBACK"),
    Site("deliver_skb", None, "COPIER_UBUFS", "ANY", "LOCAL_DELIVERY", by_tap=True),
    Site("__netif_receive_skb_core", None, "COPIER_UBUFS", "LOOPBACK", "LOOPBACK"),
    Site("ip_local_deliver_finish", None, "COPIER_UBUFS", "LOOPBACK", "LOOPBACK"),
    Site("ip6_input_finish", None, "COPIER_UBUFS", "LOOPBACK", "LOOPBACK"),
    Site("__netif_receive_skb_core", None, "COPIER_UBUFS", "ANY", "LOCAL_DELIVERY"),
    Site("ip_local_deliver_finish", None, "COPIER_UBUFS", "ANY", "LOCAL_DELIVERY"),
    Site("ip6_input_finish", None, "COPIER_UBUFS", "ANY", "LOCAL_DELIVERY"),
    Site("skb_checksum_help", "xfrm_output", "COPIER_PULL", "ANY", "IPSEC"),
    Site("skb_checksum_help", "netem_enqueue", "COPIER_PULL", "ANY", "QDISC"),
    Site("esp_output_head", None, SENT, "ANY", "IPSEC"),
    Site("esp6_output_head", None, SENT, "ANY", "IPSEC"),
    Site("netem_enqueue", None, SENT, "ANY", "QDISC"),
    Site("bpf_skb_pull_data", None, SENT, "ANY", "TC_PROGRAM"),
    Site("cls_bpf_classify", None, SENT, "ANY", "TC_PROGRAM"),
    Site("skb_pp_cow_data", None, "COPIER_COW", "ANY", "XDP"),
    Site("do_xdp_generic", None, SENT, "ANY", "XDP"),
    Site("skb_checksum_help", None, "COPIER_PULL", "NO_CHECKSUM", "CHECKSUM"),
    Site("skb_checksum_help", None, "COPIER_PULL", "ANY", "TUNNEL_CHECKSUM"),
    Site("skb_segment", None, "COPIER_PULL", "NO_CHECKSUM", "CHECKSUM"),
    Site("skb_segment", None, "COPIER_PULL", "ANY", "TUNNEL_CHECKSUM"),
    # COPIER_SEGMENT is hooked only for segments without scatter-gather.
    Site("skb_segment", None, "COPIER_SEGMENT", "NO_SCATTER_GATHER", "NO_SCATTER_GATHER"),
    Site("skb_segment", None, "COPIER_SEGMENT", "ANY", "SEGMENTATION"),
    Site("validate_xmit_skb", None, "COPIER_PULL", "NO_SCATTER_GATHER", "NO_SCATTER_GATHER"),
    Site("validate_xmit_skb", None, "COPIER_PULL", "ANY", "LINEARIZED"),
    Site("__tcp_retransmit_skb", None, SENT, "ANY", "RETRANSMISSION"),
    Site("dev_hard_start_xmit", None, "COPIER_PULL | COPIER_DUPLICATE", "ANY", "DRIVER"),
)


class UringRefusal(NamedTuple):
    """How SEND_ZC and SENDMSG_ZC are refused for a cause, mostly by io_uring before it calls the socket."""
    error: str    # the errno's name
    meaning: str
    remedy: str


class Refusal(NamedTuple):
    symbol: str   # REFUSAL_... in C
    name: str     # in the run record
    error: Optional[str]  # the errno's name; None: any other errno
    meaning: str
    remedy: str
    uring: Optional[UringRefusal] = None  # None: io_uring's operations are not refused for this cause


_NO_PAGES = "the data lie in memory that cannot be pinned, such as a device's, or that is not mapped"
# The cause of an errno is its first row from the symbol ENOBUFS on. The rows above, OPTMEM and MEMLOCK, need more than
# the errno.
REFUSALS = (
    Refusal("OPTMEM", "optmem", "ENOBUFS",
            "the socket has as many notifications unread or pending as optmem allows",
            "Read the error queue more often, or raise net.core.optmem_max."),
    Refusal("MEMLOCK", "memlock", "ENOBUFS",
            "the user has as many pages pinned as RLIMIT_MEMLOCK allows",
            "Keep fewer bytes in flight, or raise the limit (ulimit -l).",
            UringRefusal("ENOMEM",
                         "the user has as many pages pinned as RLIMIT_MEMLOCK allows, or the request needs more",
                         "Raise the limit (ulimit -l), or send by IORING_OP_SEND.")),
    Refusal("ENOBUFS", "optmem_or_memlock", "ENOBUFS",
            "optmem or locked memory had no room, or io_uring's zero-copy data were last in the queue; both "
            "had room afterwards",
            "Read the error queue more often; raise net.core.optmem_max and ulimit -l; send by io_uring or "
            "MSG_ZEROCOPY, not by both."),
    Refusal("UNSUPPORTED", "not_supported", "EOPNOTSUPP",
            "kTLS, which the socket uses, does not accept MSG_ZEROCOPY",
            "Send without it on this socket.",
            UringRefusal("EOPNOTSUPP", "SEND_ZC needs a plain TCP or UDP socket; this one is a Unix, MPTCP, kTLS or "
                         "sockmap socket",
                         "Send by IORING_OP_SEND (SENDMSG for SENDMSG_ZC) on this socket.")),
    Refusal("NO_PAGES", "no_pages", "EFAULT",
            _NO_PAGES,
            "Send data from such memory without zero-copy.",
            UringRefusal("EFAULT", f"{_NO_PAGES}, or outside the registered buffer",
                         "Send data from such memory by IORING_OP_SEND.")),
    Refusal("FULL", "send_buffer_full", "EAGAIN",
            "the send buffer had no room",
            "Wait until the socket is writable (poll)."),
    Refusal("OTHER", "failed", None, "the send failed", "See its error."),
)
REFUSAL_BY_NAME = {refusal.name: refusal for refusal in REFUSALS}
