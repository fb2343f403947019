/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Packet sockets, such as tcpdump's, get a copy of each packet of their device. */
#pragma once

#include "state.bpf.h"

/* The kernel's list of packet taps for all devices and namespaces, up to 6.8; else 0. */
const volatile __u64 ptype_all_address = 0;
/* The structure with that list, up to 6.15 ("net: move ptype_all into (struct net_hotdata)"). */
const volatile __u64 net_hotdata_address = 0;

struct net_hotdata___with_taps {
	struct list_head ptype_all;
} __attribute__((preserve_access_index));

/* "net: introduce per netns packet chains" (6.16) */
struct net___with_taps {
	struct list_head ptype_all;
} __attribute__((preserve_access_index));

static __always_inline bool has_entries(struct list_head *list)
{
	return READ(list, next) != list;
}

/* Is a packet socket open on all devices? */
static __always_inline bool all_tapped(struct net___with_taps *net)
{
	struct net_hotdata___with_taps *hot = (void *)net_hotdata_address;

	if (bpf_core_field_exists(net->ptype_all) &&
	    has_entries((void *)net + bpf_core_field_offset(net->ptype_all)))
		return true;
	if (bpf_core_field_exists(hot->ptype_all) && hot &&
	    has_entries((void *)hot + bpf_core_field_offset(hot->ptype_all)))
		return true;
	return ptype_all_address && has_entries((struct list_head *)ptype_all_address);
}

/* Is a packet socket open on this device? */
static __always_inline bool is_tapped(struct net_device *dev)
{
	return has_entries((void *)dev + bpf_core_field_offset(dev->ptype_all)) ||
	       all_tapped((void *)READ(dev, nd_net.net));
}
