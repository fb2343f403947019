/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Packet sockets, such as tcpdump's, get a copy of each packet of their device. */
#pragma once

#include "state.bpf.h"

/* The kernel's list of packet taps for all devices and namespaces, up to 6.8; else 0. */
const volatile __u64 ptype_all_address = 0;
/* The structure that has the list up to 6.15 ("net: move ptype_all into (struct net_hotdata)"). */
const volatile __u64 net_hotdata_address = 0;

struct net_hotdata___with_taps {
	struct list_head ptype_all;
} __attribute__((preserve_access_index));

/* "net: introduce per netns packet chains" (6.16) */
struct net___with_taps {
	struct list_head ptype_all;
} __attribute__((preserve_access_index));

struct packet_type___tap {
	bool ignore_outgoing;
	struct list_head list;
} __attribute__((preserve_access_index));

#define TAPS_MAX 4

/*
 * Returns whether a packet socket of the list gets outgoing packets, or incoming ones. Skips
 * sockets with PACKET_IGNORE_OUTGOING if packets go out. Reads four entries; if there are more,
 * assumes that one of them is a tap.
 */
static __noinline bool has_taps(struct list_head *list, bool outgoing)
{
	struct list_head *at = list;
	struct packet_type___tap *tap;
	int i;

	for (i = 0; i < TAPS_MAX; i++) {
		at = READ(at, next);
		if (at == list)
			return false;
		tap = (void *)at - bpf_core_field_offset(tap->list);
		if (!outgoing || !READ(tap, ignore_outgoing))
			return true;
	}
	return true;
}

/* Returns whether a packet socket is open on all devices. */
static __always_inline bool all_tapped(struct net___with_taps *net, bool outgoing)
{
	struct net_hotdata___with_taps *hot = (void *)net_hotdata_address;

	if (bpf_core_field_exists(net->ptype_all) &&
	    has_taps((void *)net + bpf_core_field_offset(net->ptype_all), outgoing))
		return true;
	if (bpf_core_field_exists(hot->ptype_all) && hot &&
	    has_taps((void *)hot + bpf_core_field_offset(hot->ptype_all), outgoing))
		return true;
	return ptype_all_address && has_taps((struct list_head *)ptype_all_address, outgoing);
}

/* Returns whether a packet socket is open on this device. */
static __always_inline bool is_tapped(struct net_device *dev, bool outgoing)
{
	return has_taps((void *)dev + bpf_core_field_offset(dev->ptype_all), outgoing) ||
	       all_tapped((void *)READ(dev, nd_net.net), outgoing);
}
