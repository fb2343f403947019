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

/*
 * Members that lie close together are read at once: asking for them costs more than copying some
 * dozen bytes. This is a member in a range that begins somewhere in the type. Its place is opaque
 * to clang, which would else subtract from a pointer: the verifier refuses that.
 */
#define IN_RANGE(type, range, begin, member)                               \
	({                                                                 \
		__u64 at_ = bpf_core_field_offset(type, member) - (begin); \
		__asm__ volatile("" : "+r"(at_));                          \
		*(typeof(((type *)0)->member) *)((range) + at_);           \
	})

/* The bookkeeping of the send whose user pages this skb carries, or NULL. The flag moved in 5.12.
 */
static __always_inline void *skb_uarg(struct sk_buff *skb)
{
	__u64 begin = bpf_core_field_offset(struct sk_buff, end) & ~7ULL; /* for the stack's sake */
	char range[24] __attribute__((aligned(8))) = {};
	char shared[56] __attribute__((aligned(8))) = {};

	/* An offset, with two pointers behind. */
	if (bpf_probe_read_kernel(range, sizeof(range), (void *)skb + begin) ||
	    bpf_probe_read_kernel(shared, sizeof(shared),
				  IN_RANGE(struct sk_buff, range, begin, head) +
					  IN_RANGE(struct sk_buff, range, begin, end)))
		return NULL;
	if (bpf_core_field_exists(((struct skb_shared_info *)0)->flags)
		    ? !(IN_RANGE(struct skb_shared_info, shared, 0, flags) & SKBFL_ZEROCOPY_ENABLE)
		    : !(IN_RANGE(struct skb_shared_info, shared, 0, tx_flags) & SKBTX_DEV_ZEROCOPY))
		return NULL;
	return IN_RANGE(struct skb_shared_info, shared, 0, destructor_arg);
}

/* What the bookkeeping of a send says. */
struct ubuf_view {
	__u64 sock;
	__u32 id;
	__u16 len;
};

/* It lives in the control block of the skb that will be the notification, behind its socket. */
static __always_inline bool uarg__view(void *uarg, struct ubuf_view *view)
{
	__u64 sk = bpf_core_field_offset(struct sk_buff, sk);
	__u64 ahead = bpf_core_field_offset(struct sk_buff, cb) - sk;
	char range[80] __attribute__((aligned(8))) = {};

	if (bpf_probe_read_kernel(range, sizeof(range), uarg - ahead))
		return false;
	view->sock = (__u64)IN_RANGE(struct sk_buff, range, sk, sk);
	if (bpf_core_type_exists(struct ubuf_info_msgzc)) {
		view->id = IN_RANGE(struct ubuf_info_msgzc, range, -ahead, id);
		view->len = IN_RANGE(struct ubuf_info_msgzc, range, -ahead, len);
	} else {
		view->id = IN_RANGE(struct ubuf_info___before_6_1, range, -ahead, id);
		view->len = IN_RANGE(struct ubuf_info___before_6_1, range, -ahead, len);
	}
	return true;
}
