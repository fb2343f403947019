/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The protocol whose sends are measured, TCP: its functions and tracepoints, and what programs read
 * of a socket. For another protocol, another version of this file would be needed.
 */
#pragma once

#include "read.bpf.h"

#include <bpf/bpf_endian.h>

#define NETIF_F_SG  (1ULL << 0)
#define IPPROTO_TCP 6
#define AF_INET	    2
#define AF_INET6    10

/* Both take (socket, message, size). PROTO_SEND_LOCKED runs with the socket locked. */
#define PROTO_SEND	  "tcp_sendmsg"
#define PROTO_SEND_LOCKED "tcp_sendmsg_locked"
#define PROTO_SOCKET_GONE "raw_tp/tcp_destroy_sock"

/* Address of PROTO_SEND; 0 where the kernel hides it. */
const volatile __u64 proto_send_address = 0;

static __always_inline bool is_ours(struct sock *sk)
{
	__u16 family = READ(sk, __sk_common.skc_family);

	return (family == AF_INET || family == AF_INET6) && READ(sk, sk_protocol) == IPPROTO_TCP;
}

struct proto___sends {
	void *sendmsg;
} __attribute__((preserve_access_index));

struct sock_common___counted {
	struct proto___sends *skc_prot;
	refcount_t skc_refcnt;
} __attribute__((preserve_access_index));

/* Returns whether PROTO_SEND makes the socket's sends. kTLS and sockmaps have other functions. */
static __always_inline bool sends_by_proto(struct sock *sk)
{
	if (!proto_send_address)
		return !READ((struct inet_connection_sock *)sk, icsk_ulp_ops);
	return (__u64)READ((struct sock_common___counted *)sk, skc_prot, sendmsg) ==
	       proto_send_address;
}

/* The states of a socket that matter here. */
#define STATE_UNCONNECTED TCP_CLOSE    /* not yet (Fast Open connects it), or not any more */
#define STATE_CONNECTS	  TCP_SYN_SENT /* the first state of a connection */
#define STATE_ACCEPTED	  TCP_SYN_RECV /* the first state at the other end of the connection */

static __always_inline __u8 socket_state_of(struct sock *sk)
{
	return READ(sk, __sk_common.skc_state);
}

/* Returns whether the socket is freed. The kernel may then use its memory for anything. */
static __always_inline bool is_freed(__u64 sock)
{
	return !READ((struct sock_common___counted *)sock, skc_refcnt.refs.counter) ||
	       !is_ours((struct sock *)sock);
}

/* Returns whether the application has closed the socket. */
static __always_inline bool is_dead(__u64 sock)
{
	__u64 dead = 1ULL << bpf_core_enum_value(enum sock_flags, SOCK_DEAD);

	return READ((struct sock *)sock, __sk_common.skc_flags) & dead;
}

static __always_inline bool zerocopy_enabled(struct sock *sk)
{
	__u64 enabled = 1ULL << bpf_core_enum_value(enum sock_flags, SOCK_ZEROCOPY);

	return READ(sk, __sk_common.skc_flags) & enabled;
}

/* Returns the id of the socket's next zero-copy send. It changes while the socket is locked. */
static __always_inline __u32 next_id(struct sock *sk)
{
	return READ(sk, sk_zckey.counter);
}

/* Returns the device of the socket's route; NULL while the kernel looks for a new route. */
static __always_inline struct net_device *route_device(struct sock *sk)
{
	return READ(sk, sk_dst_cache, dev);
}

/* Returns whether the route takes no pages. The kernel then copies all data of a send at once. */
static __always_inline bool route_copies(struct sock *sk)
{
	return !(READ(sk, sk_route_caps) & NETIF_F_SG);
}

/* One past the last byte that the application has received, as a sequence number. */
static __always_inline __u32 received_to(struct sock *sk)
{
	return READ((struct tcp_sock *)sk, copied_seq);
}

/* The largest segment of the connection, in bytes. */
static __always_inline __u32 segment_bytes(struct sock *sk)
{
	return READ((struct tcp_sock *)sk, mss_cache);
}

/* The shortest round trip of the last minutes, in microseconds. */
static __always_inline __u32 least_round_trip(struct sock *sk)
{
	return READ((struct tcp_sock *)sk, rtt_min.s[0].v);
}

static __always_inline __u16 own_port(struct sock *sk)
{
	return READ(sk, __sk_common.skc_num);
}

static __always_inline __u16 peer_port(struct sock *sk)
{
	return bpf_ntohs(READ(sk, __sk_common.skc_dport));
}

static __always_inline __u32 both_ports(struct sock *sk)
{
	return (__u32)own_port(sk) << 16 | peer_port(sk);
}
