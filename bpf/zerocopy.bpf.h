/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's bookkeeping of a run of zero-copy sends, and how to get at it. */
#ifndef SENDPATH_ZEROCOPY_BPF_H
#define SENDPATH_ZEROCOPY_BPF_H

#include "state.bpf.h"

#define SKBFL_ZEROCOPY_ENABLE 1

/* The bookkeeping lives in the control block of the skb that will be the notification. */
static __always_inline struct sock *uarg_sock(struct ubuf_info_msgzc *uarg)
{
	struct sk_buff *skb = (void *)uarg - bpf_core_field_offset(struct sk_buff, cb);

	return BPF_CORE_READ(skb, sk);
}

/* The bookkeeping of the send whose user pages this skb carries, or NULL. */
static __always_inline struct ubuf_info_msgzc *skb_uarg(struct sk_buff *skb)
{
	struct skb_shared_info *shared;

	shared = (void *)(BPF_CORE_READ(skb, head) + BPF_CORE_READ(skb, end));
	if (!(BPF_CORE_READ(shared, flags) & SKBFL_ZEROCOPY_ENABLE))
		return NULL;
	return BPF_CORE_READ(shared, destructor_arg);
}

#endif
