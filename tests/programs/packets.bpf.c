// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* These programs pass every packet, after they have made the kernel copy it. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#define XDP_PASS  2
#define TC_ACT_OK 0

struct __sk_buff {
	__u32 len;
};

SEC("xdp")
int pass(void *ctx)
{
	return XDP_PASS;
}

/* Pulls all data of the packet into one piece. */
SEC("tc")
int pull(struct __sk_buff *skb)
{
	bpf_skb_pull_data(skb, skb->len);
	return TC_ACT_OK;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
