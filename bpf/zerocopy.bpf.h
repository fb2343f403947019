/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's ubuf of zero-copy sends, and how to read it. */
#pragma once

#include "state.bpf.h"

#define SKBFL_ZEROCOPY_ENABLE 1
#define SKBTX_DEV_ZEROCOPY    8 /* of tx_flags */

/* Before 6.1 the bookkeeping of zero-copy sends was part of the general type. */
struct ubuf_info___before_6_1 {
	__u32 id;
	__u16 len;
	__u16 zerocopy : 1;
	__u32 bytelen;
} __attribute__((preserve_access_index));

#define UARG_AS(uarg, read, field)                               \
	(bpf_core_type_exists(struct ubuf_info_msgzc)            \
		 ? read((struct ubuf_info_msgzc *)(uarg), field) \
		 : read((struct ubuf_info___before_6_1 *)(uarg), field))
#define UARG_READ(uarg, field)		UARG_AS(uarg, BPF_CORE_READ, field)
#define UARG_READ_BITFIELD(uarg, field) UARG_AS(uarg, BPF_CORE_READ_BITFIELD_PROBED, field)

/* The bookkeeping lives in the control block of the skb that will be the notification. */
static __always_inline struct sock *uarg_sock(void *uarg)
{
	struct sk_buff *skb = uarg - bpf_core_field_offset(struct sk_buff, cb);

	return BPF_CORE_READ(skb, sk);
}

/* As skb_shinfo() where pointers have 64 bits: end is an offset there. */
static __always_inline struct skb_shared_info *skb_shared(struct sk_buff *skb)
{
	return (void *)(BPF_CORE_READ(skb, head) + BPF_CORE_READ(skb, end));
}

/* Does it carry user pages? The flag moved in 5.12. */
static __always_inline bool carries_user_pages(struct skb_shared_info *shared)
{
	if (bpf_core_field_exists(shared->flags))
		return BPF_CORE_READ(shared, flags) & SKBFL_ZEROCOPY_ENABLE;
	return BPF_CORE_READ(shared, tx_flags) & SKBTX_DEV_ZEROCOPY;
}

/* The bookkeeping of the send whose user pages this skb carries, or NULL. */
static __always_inline void *skb_uarg(struct sk_buff *skb)
{
	struct skb_shared_info *shared = skb_shared(skb);

	return carries_user_pages(shared) ? BPF_CORE_READ(shared, destructor_arg) : NULL;
}
