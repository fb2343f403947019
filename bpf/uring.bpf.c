// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Counts completions of io_uring's zero-copy sends when io_uring posts them. Copies are known from
 * the kernel's report to the notification or, without that hook, if the program asked io_uring to
 * report them.
 */
#include "uring.bpf.h"
#include "functions.bpf.h"

/* A notification is posted once, in the context of its task or of a worker. */
SEC("raw_tp/io_uring_complete")
int BPF_PROG(uring_completed, void *ring, __u64 key)
{
	struct io_notif_data *data;
	struct notification *found, n;

	if (!gate || !notifications_seen)
		return 0;
	found = bpf_map_lookup_elem(&notifications, &key);
	if (!found)
		return 0;
	n = *found;
	if (bpf_map_delete_elem(&notifications, &key))
		return 0;
	data = (void *)key;
	/* As io_uring itself reports it: if no packet gave the pages back, none had them. */
	if (bpf_core_field_exists(data->zc_report) && READ(data, zc_report)) {
		if (READ(data, zc_copied) || !READ(data, zc_used))
			n.copied = 1;
	} else if (!n.copied) {
		COUNT(uring_unknown, n.sends);
		groups__add(&n.owner, __builtin_offsetof(struct group, unknown), n.sends);
	}
	COUNT(uring_completions, n.sends);
	if (n.copied)
		COUNT(uring_copied, n.sends);
	groups__count_completions(&n.owner, n.sends, n.copied ? n.sends : 0);
	return 0;
}

static __always_inline void released(void *uarg, __u64 success)
{
	struct notification *n;
	__u64 key, head;

	if (!gate || !notifications_seen || success & 0xff)
		return;
	key = notification__of(uarg);
	head = notification__head(key);
	n = bpf_map_lookup_elem(&notifications, &head);
	if (!n)
		n = bpf_map_lookup_elem(&notifications, &key);
	if (n)
		n->copied = 1;
}

/* Only eight bits of a bool argument are defined. */
ON_ENTRY(uring_copied, "io_tx_ubuf_complete", released(uarg, success), struct sk_buff *skb,
	 void *uarg, __u64 success)
