/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is read of a packet. */
#pragma once

#include "state.bpf.h"

/* As skb_shinfo() where pointers have 64 bits: end is an offset there. */
static __always_inline struct skb_shared_info *skb_shared(struct sk_buff *skb)
{
	return (void *)(BPF_CORE_READ(skb, head) + BPF_CORE_READ(skb, end));
}
