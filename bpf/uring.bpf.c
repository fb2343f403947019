// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Completions of io_uring's zero-copy sends, as io_uring posts them; and copies, as the kernel
 * reports them to the notification. Without the latter hook a copy is known only where the program
 * asked io_uring for reports.
 */
#include "uring.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct notification_map notifications SEC(".maps");
volatile __u32 notifications_seen;

static __always_inline void notification__make(__u64 key, const struct notification *fresh)
{
	bpf_map_update_elem(&notifications, &key, fresh, BPF_NOEXIST);
	if (!bpf_map_lookup_elem(&notifications, &key))
		TOTALS_COUNT(lost_notifications);
}

__noinline __u64 notification__begin_send(__u64 uarg, __u64 sock)
{
	struct sock *sk = (struct sock *)sock;
	struct notification fresh = {};
	__u64 key;

	/* Loaded in kernels that have none, too. */
	if (!bpf_core_type_exists(struct io_notif_data))
		return 0;
	key = notification__of((void *)uarg);
	notifications_seen = 1;
	if (bpf_map_lookup_elem(&notifications, &key))
		return key;
	key__of(&fresh.who, sk, route_device(sk));
	groups__make_room(&fresh.who, sk);
	notification__make(key, &fresh);
	return key;
}

__noinline int notification__end(__u64 key, __s64 ret)
{
	struct notification *own = bpf_map_lookup_elem(&notifications, &key), *n, fresh;
	__u64 head = notification__head(key);

	if (!own)
		return 0;
	if (ret > 0)
		add(&own->sends, 1);
	if (head != key) {
		fresh = *own;
		n = bpf_map_lookup_elem(&notifications, &head);
		if (n) {
			add(&n->sends, fresh.sends);
			if (fresh.copied)
				n->copied = 1;
		} else { /* it began before the window */
			notification__make(head, &fresh);
		}
	}
	if (head != key || !own->sends)
		bpf_map_delete_elem(&notifications, &key);
	return 0;
}

/*
 * args: ring, request. A notification is posted once, in the context of its task or
 * of a worker.
 */
SEC("raw_tp/io_uring_complete")
int uring_completed(struct bpf_raw_tracepoint_args *ctx)
{
	struct io_notif_data *data;
	struct notification *found, n;
	struct totals *t;
	__u64 key;

	if (!gate || !notifications_seen)
		return 0;
	key = ctx->args[1];
	found = bpf_map_lookup_elem(&notifications, &key);
	t = totals__get();
	if (!found || !t)
		return 0;
	n = *found;
	if (bpf_map_delete_elem(&notifications, &key))
		return 0;
	data = (void *)key;
	if (bpf_core_field_exists(data->zc_report) && BPF_CORE_READ(data, zc_report)) {
		if (BPF_CORE_READ(data, zc_copied))
			n.copied = 1;
	} else {
		add(&t->uring_unknown, n.sends);
		groups__add(&n.who, __builtin_offsetof(struct group, unknown), n.sends);
	}
	add(&t->uring_completions, n.sends);
	if (n.copied)
		add(&t->uring_copied, n.sends);
	groups__count_completions(&n.who, n.sends, n.copied ? n.sends : 0);
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

/* A bool argument has only eight bits that mean anything. */
SEC("fentry/io_tx_ubuf_complete")
int BPF_PROG(uring_copied_fentry, struct sk_buff *skb, void *uarg, __u64 success)
{
	released(uarg, success);
	return 0;
}

SEC("kprobe/io_tx_ubuf_complete")
int BPF_KPROBE(uring_copied_kprobe, struct sk_buff *skb, void *uarg, __u64 success)
{
	released(uarg, success);
	return 0;
}
