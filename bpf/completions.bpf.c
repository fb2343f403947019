// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Completions: for each zero-copy send, did the kernel flag it as copied?
 *
 * The kernel merges the notification of a completion into the one before it and
 * forgets the merged one's flag, so what the application is told is lossy. Both
 * mechanisms count send ids, with their flags, before that.
 */
#include "causes.bpf.h"
#include "groups.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define SO_EE_ORIGIN_ZEROCOPY	   5
#define SO_EE_CODE_ZEROCOPY_COPIED 1
#define FLAG_BIT		   32
#define TRIES			   8

/* kallsyms addresses; 0 and empty ranges where they are not to be had. */
const volatile __u64 sock_ofree_address = 0;
const volatile struct address_range merge_ranges[MERGE_RANGES] = {};
/* Is notification_freed attached? It then has the flag of a merged run. */
const volatile bool merges_seen = false;

/*
 * Kernels before "bpf: Prevent bpf program recursion for raw tracepoint probes"
 * let such a program interrupt itself: plain additions would lose some.
 */
static __always_inline void count(__u64 *field, __u64 n)
{
	__sync_fetch_and_add(field, n);
}

/* The kernel is done with these sends of a socket; every mechanism comes by here, once a send. */
static __always_inline void completed(struct zerocopy_socket *s, struct totals *t, __u32 first,
				      __u32 sends)
{
	count(&t->completions, sends);
}

/* The last reference to a run of sends goes: what became of them is settled. */
static __always_inline void settled(void *uarg)
{
	__u64 sk = (__u64)uarg_sock(uarg);
	struct zerocopy_socket *s = bpf_map_lookup_elem(&sockets, &sk);
	struct totals *t = totals__get();
	struct run_key run = {.sock = sk};
	__u32 first, sends, bytes;
	bool copied;
	__s32 before;

	if (!s || !t)
		return;
	sends = UARG_READ(uarg, len); /* 0: the only send was aborted */
	bytes = sends ? UARG_READ(uarg, bytelen) : 0;
	first = UARG_READ(uarg, id);
	/* Sends of before the socket was watched; their share of the bytes is not known. */
	before = (__u32)s->progress - first;
	if (before > 0) {
		first += before;
		sends = (__u32)before < sends ? sends - before : 0;
		bytes = 0;
	}
	completed(s, t, first, sends);
	t->bytes += bytes;
	copied = !UARG_READ_BITFIELD(uarg, zerocopy);
	groups__complete(&s->who, sends, copied ? sends : 0);
	if (copied) {
		t->copied += sends;
		t->bytes_copied += bytes;
	}
	run.born = s->born;
	run.id = first;
	run__completed(&run, sends, bytes, copied);
}

SEC("fentry/__msg_zerocopy_callback")
int BPF_PROG(completion_fentry, void *uarg)
{
	if (gate)
		settled(uarg);
	return 0;
}

SEC("kprobe/__msg_zerocopy_callback")
int BPF_KPROBE(completion_kprobe, void *uarg)
{
	if (gate)
		settled(uarg);
	return 0;
}

static __always_inline int read_notification(struct sk_buff *skb, struct sock_extended_err *ee)
{
	struct sock_exterr_skb *err = (void *)skb + bpf_core_field_offset(struct sk_buff, cb);

	return bpf_core_read(ee, sizeof(*ee), &err->ee);
}

/* Counts the ids from the socket's progress to the end of the record at the queue's tail. */
static __always_inline void advance(__u64 sk, struct zerocopy_socket *s,
				    struct sock_extended_err *ee)
{
	__u64 copied = ee->ee_code & SO_EE_CODE_ZEROCOPY_COPIED;
	struct run_key run = {.sock = sk, .born = s->born};
	struct totals *t = totals__get();
	__u64 old, new;
	__u32 sends;
	bool merged;
	int i;

	if (!t)
		return;
	for (i = 0; i < TRIES; i++) {
		old = *(volatile __u64 *)&s->progress;
		sends = ee->ee_data + 1 - (__u32)old;
		if ((__s32)sends <= 0)
			return; /* counted by whoever was faster */
		new = (__u32)(ee->ee_data + 1) | copied << FLAG_BIT;
		if (__sync_val_compare_and_swap(&s->progress, old, new) != old)
			continue;
		completed(s, t, old, sends);
		groups__complete(&s->who, sends, copied ? sends : 0);
		if (copied)
			count(&t->copied, sends);
		if ((__s32)(ee->ee_info - (__u32)old) > 0)
			count(&t->flag_assumed, ee->ee_info - (__u32)old);
		merged = (__s32)(ee->ee_info - (__u32)old) < 0;
		if (merged)
			count(&t->merged, sends);
		if (merged && merges_seen)
			return;
		run.id = merged ? old : ee->ee_info;
		run__completed(&run, sends, 0, copied);
		return;
	}
	count(&t->lost_completions, 1);
}

/*
 * args: sk. The notification was just queued, or joined to the queue's tail. The
 * tail's flag stands for all; where that is wrong, notification_freed mends it.
 */
SEC("raw_tp/inet_sk_error_report")
int notification_queued(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 key = ctx->args[0];
	struct zerocopy_socket *s = gate ? bpf_map_lookup_elem(&sockets, &key) : NULL;
	struct sk_buff_head *queue;
	struct sock_extended_err ee;
	struct sk_buff *tail;

	if (!s)
		return 0;
	queue = (void *)key + bpf_core_field_offset(struct sock, sk_error_queue);
	tail = BPF_CORE_READ(queue, prev);
	if ((void *)tail == (void *)queue || read_notification(tail, &ee) ||
	    ee.ee_origin != SO_EE_ORIGIN_ZEROCOPY)
		return 0;
	advance(key, s, &ee);
	return 0;
}

static __always_inline bool is_merge(__u64 location)
{
	int i;

	for (i = 0; i < MERGE_RANGES; i++)
		if (location >= merge_ranges[i].from && location < merge_ranges[i].to)
			return true;
	return false;
}

/*
 * args: skb, location. A notification freed by the code that made it was joined
 * to another; it still holds its own flag. Elsewhere it is the application that
 * read its queue. Comes after notification_queued, on the same CPU.
 */
SEC("raw_tp/consume_skb")
int notification_freed(struct bpf_raw_tracepoint_args *ctx)
{
	struct sk_buff *skb = (struct sk_buff *)ctx->args[0];
	struct sock_extended_err ee;
	struct zerocopy_socket *s;
	bool copied, assumed;
	struct run_key run;
	struct totals *t;
	__u32 sends;
	__u64 key;

	if (!gate || !is_merge(ctx->args[1]) ||
	    (__u64)BPF_CORE_READ(skb, destructor) != sock_ofree_address)
		return 0;
	key = (__u64)BPF_CORE_READ(skb, sk);
	s = bpf_map_lookup_elem(&sockets, &key);
	t = totals__get();
	if (!s || !t || read_notification(skb, &ee) || ee.ee_origin != SO_EE_ORIGIN_ZEROCOPY)
		return 0;
	copied = ee.ee_code & SO_EE_CODE_ZEROCOPY_COPIED;
	assumed = s->progress >> FLAG_BIT & 1;
	sends = ee.ee_data + 1 - ee.ee_info;
	count(&t->merged_seen, sends);
	/* The kernel skipped notification_queued: nothing was assumed yet. */
	if ((__s32)(ee.ee_data + 1 - (__u32)s->progress) > 0) {
		count(&t->merged, sends);
		advance(key, s, &ee);
		return 0;
	}
	run.sock = key;
	run.born = s->born;
	run.id = (__s32)(ee.ee_info - s->first) < 0 ? s->first : ee.ee_info;
	run__completed(&run, sends, 0, copied);
	if (copied && !assumed) {
		count(&t->copied_later, sends);
		groups__complete(&s->who, 0, sends);
	}
	if (!copied && assumed) {
		count(&t->copied_not, sends);
		groups__complete(&s->who, 0, -(__u64)sends);
	}
	return 0;
}
