// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Completions: for each zero-copy send, did the kernel flag it as copied?
 *
 * The kernel merges the notification of a completion into the one before it and
 * forgets the merged one's flag, so what the application is told is lossy. Both
 * mechanisms count send ids, with their flags, before that.
 */
#include "counted.bpf.h"
#include "flight.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define SO_EE_ORIGIN_ZEROCOPY	   5
#define SO_EE_CODE_ZEROCOPY_COPIED 1
#define TRIES			   8
#define CALLERS			   16

/* kallsyms addresses; 0 and empty ranges where they are not to be had. */
const volatile __u64 sock_ofree_address = 0;
const volatile struct address_range merge_ranges[MERGE_RANGES] = {};
/* Is notification_freed attached? It then has the flag of a merged run. */
const volatile bool merges_seen = false;
const volatile struct address_range read_ranges[READ_RANGES] = {};
/* Are completions counted as they are queued, or by the function that makes them known? */
const volatile bool counted_in_queue = false;
/* Does notification_freed count what applications read, or another program? */
const volatile bool counts_told = false;

/*
 * Kernels before "bpf: Prevent bpf program recursion for raw tracepoint probes"
 * let such a program interrupt itself: plain additions would lose some.
 */
static __always_inline void count(__u64 *field, __u64 n)
{
	__sync_fetch_and_add(field, n);
}

/*
 * A completion took so long. A function of its own: verified once, not once a turn of a
 * loop. min and max can be stale where an interrupt adds meanwhile: the analyzer mends that.
 */
__noinline int completion_took(__u64 ns)
{
	__u32 key = SPAN_COMPLETION, bucket = hist_bucket(ns);
	struct hist *h = bpf_map_lookup_elem(&spans, &key);

	if (!h)
		return 0;
	if (!h->min || ns < h->min)
		h->min = ns;
	if (ns > h->max)
		h->max = ns;
	count(&h->count, 1);
	count(&h->sum, ns);
	if (bucket < HIST_BUCKETS)
		count(&h->buckets[bucket], 1);
	return 0;
}

/*
 * The flights of these ids end. Sums are kept in maps, where the verifier does not
 * follow them: every turn of the loop is alike to it. A function of its own, so that it
 * goes through the loop once and not once for each way that leads here.
 */
__noinline int land(__u64 sock, __u32 first, __u32 sends)
{
	struct zerocopy_socket *s = bpf_map_lookup_elem(&sockets, &sock);
	__u64 now = bpf_ktime_get_ns(), word;
	struct pinned *p = pinned__get();
	__u32 place, i;

	if (!s || !p)
		return 0;
	for (i = 0; i < FLIGHT_SLOTS && i < sends; i++) {
		place = (first + i) & (FLIGHT_SLOTS - 1);
		word = s->flights[place];
		if (!word || ((flight_id(word, place) - first) & FLIGHT_ID_MASK) >= sends)
			continue;
		pinned__free(p, s->flight_bytes[place]);
		*(volatile __u64 *)&s->flights[place] = 0;
		if (!s->shared)
			completion_took((now - word) & FLIGHT_TIME_MASK);
	}
	s->landed = first + sends;
	return 0;
}

/*
 * The kernel is done with these sends of a socket; every mechanism comes by here, once a send.
 * Both numbers one after the other: a line of an interval may be read in between.
 */
static __always_inline void completed(__u64 sock, struct totals *t, __u32 first, __u32 sends,
				      bool copied)
{
	count(&t->completions, sends);
	if (copied)
		count(&t->copied, sends);
	land(sock, first, sends);
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
	before = s->progress - first;
	if (before > 0) {
		first += before;
		sends = (__u32)before < sends ? sends - before : 0;
		bytes = 0;
	}
	copied = !UARG_READ_BITFIELD(uarg, zerocopy);
	completed(sk, t, first, sends, copied);
	if (sends)
		count(&t->runs, 1);
	t->bytes += bytes;
	groups__complete(&s->who, sends, copied ? sends : 0);
	if (copied)
		t->bytes_copied += bytes;
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

/* What became of an attempt to count up to some id. */
enum claim { CLAIM_MINE, CLAIM_TAKEN, CLAIM_GIVEN_UP };

/* Moves the socket's progress to next: whoever does it counts what lies between. */
static __always_inline enum claim claim(struct zerocopy_socket *s, __u32 next, __u32 *old)
{
	int i;

	for (i = 0; i < TRIES; i++) {
		*old = *(volatile __u32 *)&s->progress;
		if (!id_before(*old, next))
			return CLAIM_TAKEN;
		if (__sync_val_compare_and_swap(&s->progress, *old, next) == *old)
			return CLAIM_MINE;
	}
	return CLAIM_GIVEN_UP;
}

/* The causes of the sends from old to next, unless they come with their own notifications. */
static __always_inline void count_causes(__u64 sk, struct zerocopy_socket *s, struct totals *t,
					 __u32 old, __u32 next, __u32 record_first, bool copied)
{
	bool joined = id_before(record_first, old);
	struct run_key run = {.sock = sk, .born = s->born, .id = joined ? old : record_first};
	/* The first may have begun before its socket was watched. */
	bool merged = joined && old != s->first;
	__u32 sends = next - old;
	struct run marks;

	if (merged && merges_seen) {
		counted__add(s, old, run.id, next, copied, NULL);
	} else {
		run__take(&run, &marks);
		counted__add(s, old, run.id, next, copied, &marks);
		marks__count(sk, &marks, sends, 0, copied);
	}
	if (merged)
		count(&t->merged, sends);
}

/*
 * Counts the ids from the socket's progress to the end of the record at the queue's tail.
 * False if that had been done, by this or another CPU.
 */
static __always_inline bool advance(__u64 sk, struct zerocopy_socket *s,
				    struct sock_extended_err *ee)
{
	bool copied = ee->ee_code & SO_EE_CODE_ZEROCOPY_COPIED;
	__u32 next = ee->ee_data + 1, old, sends;
	struct totals *t = totals__get();

	if (!t)
		return true;
	if (gate == GATE_MENDING)
		return false;
	switch (claim(s, next, &old)) {
	case CLAIM_TAKEN:
		return false;
	case CLAIM_GIVEN_UP:
		count(&t->lost_completions, 1);
		return true;
	case CLAIM_MINE:
		break;
	}
	/* First of all: what joined a record looks for the count of it, perhaps by now. */
	count_causes(sk, s, t, old, next, ee->ee_info, copied);
	sends = next - old;
	completed(sk, t, old, sends, copied);
	groups__complete(&s->who, sends, copied ? sends : 0);
	if (id_before(old, ee->ee_info)) {
		__sync_fetch_and_add(&s->assumed, ee->ee_info - old);
		count(&t->flag_assumed, ee->ee_info - old);
	}
	return true;
}

/* A notification tells of its own sends, which were counted before; some of before the watch. */
static __always_inline void mend(__u64 sk, struct zerocopy_socket *s, struct sock_extended_err *ee,
				 bool is_record)
{
	struct run_key run = {.sock = sk, .born = s->born, .id = first_watched(s, ee->ee_info)};
	struct totals *t = totals__get();

	if (t && !id_before(ee->ee_data, run.id))
		counted__mend(s, t, &run, ee->ee_data + 1, ee->ee_code & SO_EE_CODE_ZEROCOPY_COPIED,
			      is_record);
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
	struct totals *t;

	if (!s)
		return 0;
	queue = (void *)key + bpf_core_field_offset(struct sock, sk_error_queue);
	tail = BPF_CORE_READ(queue, prev);
	if ((void *)tail == (void *)queue || read_notification(tail, &ee) ||
	    ee.ee_origin != SO_EE_ORIGIN_ZEROCOPY)
		return 0;
	/* One report a run, but where it is of a connection that failed. */
	t = totals__get();
	if (t && gate != GATE_MENDING && !BPF_CORE_READ((struct sock *)key, sk_err))
		count(&t->runs, 1);
	advance(key, s, &ee);
	if (s->assumed)
		mend(key, s, &ee, true);
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

/* Sends of before the socket was watched are not told apart from others that do not count. */
static __always_inline void count_told(struct zerocopy_socket *s, struct sock_extended_err *ee)
{
	__s32 sends = ee->ee_data + 1 - ee->ee_info, watched = ee->ee_data + 1 - s->first;
	struct totals *t = totals__get();

	if (watched < sends)
		sends = watched;
	if (!t || sends <= 0)
		return;
	count(&t->records, 1);
	count(&t->told, sends);
	if (ee->ee_code & SO_EE_CODE_ZEROCOPY_COPIED)
		count(&t->told_copied, sends);
}

/* The socket that this is a notification for, if it is watched. */
static __always_inline struct zerocopy_socket *notified(struct sk_buff *skb,
							struct sock_extended_err *ee)
{
	__u64 key = (__u64)BPF_CORE_READ(skb, sk);
	struct zerocopy_socket *s = bpf_map_lookup_elem(&sockets, &key);

	if (!s || read_notification(skb, ee) || ee->ee_origin != SO_EE_ORIGIN_ZEROCOPY)
		return NULL;
	return s;
}

/* An application took this from an error queue. */
static __always_inline void dequeued(struct sk_buff *skb)
{
	struct zerocopy_socket *s;
	struct sock_extended_err ee;

	s = gate && skb ? notified(skb, &ee) : NULL;
	if (s)
		count_told(s, &ee);
}

SEC("fexit/sock_dequeue_err_skb")
int BPF_PROG(dequeued_fexit, struct sock *sk, struct sk_buff *skb)
{
	dequeued(skb);
	return 0;
}

SEC("kretprobe/sock_dequeue_err_skb")
int BPF_KRETPROBE(dequeued_kretprobe, struct sk_buff *skb)
{
	dequeued(skb);
	return 0;
}

SEC("kretprobe.multi/sock_dequeue_err_skb")
int BPF_KRETPROBE(dequeued_multi, struct sk_buff *skb)
{
	dequeued(skb);
	return 0;
}

static __always_inline bool is_read(__u64 location)
{
	int i;

	for (i = 0; i < READ_RANGES; i++)
		if (location >= read_ranges[i].from && location < read_ranges[i].to)
			return true;
	return false;
}

enum freed { FREED_ELSEWHERE, FREED_JOINED, FREED_READ };

/* A function of its own: what follows is verified once, not once for each answer. */
__noinline int freed_how(__u64 location, __u64 destructor)
{
	if (is_read(location))
		return FREED_READ;
	return is_merge(location) && destructor == sock_ofree_address ? FREED_JOINED
								      : FREED_ELSEWHERE;
}

/*
 * A notification freed by the code that made it was joined to another; it still
 * holds its own flag. Comes after notification_queued, on the same CPU; but an application
 * may have been faster, or the kernel have skipped that. In the code that reads a queue it
 * is the application that got it, perhaps before the report of it, which then finds it no
 * more.
 */
static __always_inline int freed(struct sk_buff *skb, __u64 location)
{
	int how = freed_how(location, (__u64)BPF_CORE_READ(skb, destructor));
	__u64 key = (__u64)BPF_CORE_READ(skb, sk);
	struct sock_extended_err ee;
	struct zerocopy_socket *s;
	bool counted;

	if (how == FREED_ELSEWHERE)
		return 0;
	s = notified(skb, &ee);
	if (!s)
		return 0;
	counted = counted_in_queue && advance(key, s, &ee);
	if (how == FREED_READ ? s->assumed : !counted)
		mend(key, s, &ee, how == FREED_READ);
	if (how == FREED_READ && counts_told)
		count_told(s, &ee);
	return 0;
}

/* args: skb, location */
SEC("raw_tp/consume_skb")
int notification_freed(struct bpf_raw_tracepoint_args *ctx)
{
	return gate ? freed((struct sk_buff *)ctx->args[0], ctx->args[1]) : 0;
}

/*
 * The innermost of the callers that matter; 0 if none does. Read anew, as the verifier
 * would go through all that follows once for each place it may have been found at.
 */
static __always_inline __u64 caller_of_interest(const __u64 *stack)
{
	__u64 location = 0;
	int i;

	for (i = 0; i < CALLERS; i++) {
		if (!is_merge(stack[i]) && !is_read(stack[i]))
			continue;
		bpf_probe_read_kernel(&location, sizeof(location), &stack[i]);
		break;
	}
	return location;
}

/*
 * args: skb. Before "net: add location to trace_consume_skb()" (6.3) it is the stack
 * that tells where. It is looked at only for what an error queue is charged with.
 */
SEC("raw_tp/consume_skb")
int notification_freed_in_stack(struct bpf_raw_tracepoint_args *ctx)
{
	struct sk_buff *skb = (struct sk_buff *)ctx->args[0];
	__u64 stack[CALLERS] = {}, location;

	if (!gate || (__u64)BPF_CORE_READ(skb, destructor) != sock_ofree_address)
		return 0;
	bpf_get_stack(ctx, stack, sizeof(stack), 0);
	location = caller_of_interest(stack);
	return location ? freed(skb, location) : 0;
}
