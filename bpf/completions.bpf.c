// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Completions: which zero-copy sends the kernel flagged as copied, counted before it coalesces
 * notifications and loses flags: docs/zerocopy.md.
 */
#include "counted.bpf.h"
#include "inflight.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define SO_EE_CODE_ZEROCOPY_COPIED 1
#define TRIES			   8
#define CALLERS			   12

/* kallsyms addresses; 0 and empty ranges where it hides them. */
const volatile __u64 sock_ofree_address = 0;
const volatile struct address_range coalesce_ranges[COALESCE_RANGES] = {};
/* Is notification_freed attached? It reads the flag of a coalesced notification. */
const volatile bool sees_coalesced = false;
const volatile struct address_range read_ranges[READ_RANGES] = {};
/* Are completions counted at the error queue, or by a function? */
const volatile bool counted_in_queue = false;
/* Does notification_freed count what applications read? */
const volatile bool counts_reported = false;

/*
 * Kernels before "bpf: Prevent bpf program recursion for raw tracepoint probes"
 * let such a program interrupt itself: plain additions would lose some.
 */
static __always_inline void count(__u64 *field, __u64 n)
{
	__sync_fetch_and_add(field, n);
}

/*
 * Verified once, as a function of its own. min and max can be stale where an interrupt adds
 * meanwhile: the analyzer corrects them.
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
	count(&h->sum, ns);
	if (bucket < HIST_BUCKETS)
		count(&h->buckets[bucket], 1);
	return 0;
}

#define SLOTS_AT_ONCE 16

/*
 * So many slots of the sends that completed now. A function of its own, and few slots: the verifier
 * goes through it once, and once through each of its turns.
 */
__noinline int inflight__end_some(__u64 sock, __u32 first, __u32 sends, __u32 from, __u64 now)
{
	struct zerocopy_socket *s = bpf_map_lookup_elem(&sockets, &sock);
	struct pinned *p = pinned__get();
	__u32 slot, i;
	__u64 word;

	if (!s || !p)
		return 0;
	for (i = 0; i < SLOTS_AT_ONCE && from + i < sends; i++) {
		slot = (first + from + i) & (INFLIGHT_SLOTS - 1);
		word = s->inflight[slot];
		if (!word || ((inflight_id(word, slot) - first) & INFLIGHT_ID_MASK) >= sends)
			continue;
		pinned__free(p, s->inflight_bytes[slot]);
		*(volatile __u64 *)&s->inflight[slot] = 0;
		if (!s->shared)
			completion_took((now - word) & INFLIGHT_TIME_MASK);
	}
	return 0;
}

__noinline int inflight__end_sends(__u64 sock, __u32 first, __u32 sends)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 from;

	for (from = 0; from < INFLIGHT_SLOTS && from < sends; from += SLOTS_AT_ONCE)
		inflight__end_some(sock, first, sends, from, now);
	return 0;
}

/*
 * Every mechanism comes by here, once a send. Both counts one after the other: a line of an
 * interval may be read in between.
 */
static __always_inline void completed(__u64 sock, struct zerocopy_socket *s, struct totals *t,
				      __u32 first, __u32 sends, __u32 in_window, __u32 copied)
{
	count(&t->completions, in_window);
	count(&t->copied, copied);
	groups__count_completions(&s->who, in_window, copied);
	if (sends <= SLOTS_AT_ONCE) /* mostly: one call less */
		inflight__end_some(sock, first, sends, 0, bpf_ktime_get_ns());
	else
		inflight__end_sends(sock, first, sends);
	s->completed_to = first + sends;
	__sync_fetch_and_add(&s->waiting, -in_window);
	if (s->closed && s->waiting <= 0)
		socket__retire(sock);
}

/* Counts the sends from..to-1 that began before the window. */
static __always_inline void completed_earlier(const struct zerocopy_socket *s, struct totals *t,
					      __u32 from, __u32 to)
{
	if (id_before(s->first, to))
		to = s->first;
	if (id_before(from, to))
		count(&t->completions_before, to - from);
}

/* The last reference to a ubuf goes. */
static __always_inline void settled(void *uarg)
{
	__u64 sk = (__u64)uarg_sock(uarg);
	struct zerocopy_socket *s = bpf_map_lookup_elem(&sockets, &sk);
	struct totals *t = totals__get();
	struct ubuf_key ubuf = {.sock = sk};
	__u32 first, sends, in_window;
	__u64 bytes = 0;
	bool copied;

	if (!s || !t)
		return;
	sends = UARG_READ(uarg, len); /* 0: the only send was aborted */
	first = UARG_READ(uarg, id);
	in_window = window__sends(s, sk, first, first + sends);
	copied = !UARG_READ_BITFIELD(uarg, zerocopy);
	if (in_window == sends && sends)
		bytes = UARG_READ(uarg, bytelen);
	else /* their share of the bytes is not known */
		count(&t->unsized_completions, in_window);
	ubuf.born = s->born;
	ubuf.id = first_watched(s, first);
	ubuf__count_completion(&ubuf, in_window, bytes, copied);
	if (in_window)
		count(&t->ubufs, 1);
	count(&t->bytes, bytes);
	if (copied)
		count(&t->bytes_copied, bytes);
	completed_earlier(s, t, first, first + sends);
	completed(sk, s, t, first, sends, in_window, copied ? in_window : 0);
}

/* When the gate allows only corrections, the window is over. */
static __always_inline bool still_counts(void)
{
	return sockets_seen && (gate == GATE_OPEN || gate == GATE_CLOSING);
}

SEC("fentry/__msg_zerocopy_callback")
int BPF_PROG(completion_fentry, void *uarg)
{
	if (still_counts())
		settled(uarg);
	return 0;
}

SEC("kprobe/__msg_zerocopy_callback")
int BPF_KPROBE(completion_kprobe, void *uarg)
{
	if (still_counts())
		settled(uarg);
	return 0;
}

enum claim { CLAIM_MINE, CLAIM_TAKEN, CLAIM_GIVEN_UP };

/* Moves the socket's progress to next: whoever succeeds counts the sends between. */
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

/* Counts the causes of old..next-1, unless their own notifications will. */
static __always_inline void count_causes(__u64 sk, struct zerocopy_socket *s, struct totals *t,
					 __u32 old, __u32 next, __u32 notification_first,
					 __u32 sends, bool copied)
{
	bool coalesced_with = id_before(notification_first, old);
	struct ubuf_key ubuf = {
		.sock = sk, .born = s->born, .id = coalesced_with ? old : notification_first};
	/* The first ubuf may have begun before its socket was watched. */
	bool coalesced = coalesced_with && old != s->first;
	struct cause_bits bits;

	if (coalesced && sees_coalesced) {
		counted__add(s, old, ubuf.id, next, sends, copied, NULL);
	} else {
		ubuf__remove_bits(&ubuf, &bits);
		counted__add(s, old, ubuf.id, next, sends, copied, &bits);
		cause_bits__count_sends(sk, &bits, sends, 0, copied);
	}
	if (coalesced)
		count(&t->coalesced, sends);
}

#define UBUFS_AT_ONCE 16
#define UBUF_TURNS    256

/*
 * Counts so many ubufs of ids from..to-1 by what their references stored. Returns how many ids
 * these are, in the upper half, and how many of the window's sends are flagged. A function of its
 * own, and few ubufs: the verifier goes through it once, and once through each of its turns.
 */
__noinline __u64 count_some_ubufs(__u64 sock, __u32 from, __u32 to)
{
	struct zerocopy_socket *s = bpf_map_lookup_elem(&sockets, &sock);
	struct totals *t = totals__get();
	__u32 first = from, sends, copied = 0, i;
	struct ubuf_key key = {.sock = sock};
	struct ubuf_entry *kept, ubuf;

	if (!s || !t)
		return 0;
	key.born = s->born;
	for (i = 0; i < UBUFS_AT_ONCE && id_before(from, to); i++) {
		key.id = from;
		kept = bpf_map_lookup_elem(&ubufs, &key);
		if (!kept || !kept->sends)
			break;
		ubuf = *kept;
		bpf_map_delete_elem(&ubufs, &key);
		sends = window__sends(s, sock, from, from + ubuf.sends);
		if (sends != ubuf.sends)
			ubuf.bytes = 0;
		if (!ubuf.bytes)
			count(&t->unsized_completions, sends);
		count(&t->bytes, ubuf.bytes);
		if (ubuf.flagged) {
			copied += sends;
			count(&t->bytes_copied, ubuf.bytes);
		}
		cause_bits__count_sends(sock, &ubuf.causes, sends, ubuf.bytes, ubuf.flagged);
		from += ubuf.sends;
	}
	return (__u64)(from - first) << 32 | copied;
}

/*
 * The same of all. Sends without a stored ubuf take the notification's flag and count as lost
 * flags.
 */
__noinline __u32 count_ubufs(__u64 sock, __u32 from, __u32 to, __u32 notification_copied)
{
	struct zerocopy_socket *s = bpf_map_lookup_elem(&sockets, &sock);
	struct totals *t = totals__get();
	__u32 sends, copied = 0, i;
	__u64 some;

	if (!s || !t)
		return 0;
	for (i = 0; i < UBUF_TURNS && id_before(from, to); i++) {
		some = count_some_ubufs(sock, from, to);
		copied += (__u32)some;
		if (!(some >> 32))
			break;
		from += some >> 32;
	}
	sends = window__sends(s, sock, from, to);
	count(&t->coalesced, sends);
	count(&t->unsized_completions, sends);
	return notification_copied ? copied + sends : copied;
}

/*
 * Counts from the socket's progress to the end of the notification at the queue's tail. False: that
 * was done. by_reference: see reference_gone().
 */
static __always_inline bool advance(__u64 sk, struct zerocopy_socket *s,
				    struct sock_extended_err *ee, bool by_reference)
{
	bool copied = ee->ee_code & SO_EE_CODE_ZEROCOPY_COPIED;
	__u32 next = ee->ee_data + 1, old, sends;
	struct totals *t = totals__get();

	if (!t)
		return true;
	if (!still_counts())
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
	/* It is not known how many completed before the first of them. */
	completed_earlier(s, t, s->first - old == LONG_BEFORE ? ee->ee_info : old, next);
	old = first_watched(s, old);
	if (!id_before(old, next))
		return true;
	sends = window__sends(s, sk, old, next);
	if (by_reference) {
		completed(sk, s, t, old, next - old, sends, count_ubufs(sk, old, next, copied));
		return true;
	}
	/* First: a coalesced notification may be looking for this count. */
	count_causes(sk, s, t, old, next, ee->ee_info, sends, copied);
	if (id_before(old, ee->ee_info)) {
		__sync_fetch_and_add(&s->assumed, ee->ee_info - old);
		count(&t->flag_assumed, window__sends(s, sk, old, ee->ee_info));
	}
	completed(sk, s, t, old, next - old, sends, copied ? sends : 0);
	return true;
}

/* Corrects what was counted of a notification's own sends. */
static __always_inline void correct_flags(__u64 sk, struct zerocopy_socket *s,
					  struct sock_extended_err *ee, bool is_notification)
{
	struct ubuf_key ubuf = {.sock = sk, .born = s->born, .id = first_watched(s, ee->ee_info)};
	struct totals *t = totals__get();

	if (t && !id_before(ee->ee_data, ubuf.id))
		counted__correct(s, t, &ubuf, ee->ee_data + 1,
				 ee->ee_code & SO_EE_CODE_ZEROCOPY_COPIED, is_notification);
}

/*
 * args: sk. A notification was queued, or coalesced with the tail, whose flag stands for all until
 * notification_freed corrects that.
 */
static __always_inline int queued(__u64 key, bool by_reference)
{
	struct zerocopy_socket *s = sockets_watched() ? bpf_map_lookup_elem(&sockets, &key) : NULL;
	struct sock_extended_err ee;
	struct totals *t;

	if (!s || !last_notification((struct sock *)key, &ee))
		return 0;
	/* One report a ubuf, unless the connection failed. */
	t = totals__get();
	if (t && still_counts() && window__has(s, ee.ee_data) &&
	    !BPF_CORE_READ((struct sock *)key, sk_err))
		count(&t->ubufs, 1);
	advance(key, s, &ee, by_reference);
	if (s->assumed)
		correct_flags(key, s, &ee, true);
	return 0;
}

SEC("raw_tp/inet_sk_error_report")
int notification_queued(struct bpf_raw_tracepoint_args *ctx)
{
	return queued(ctx->args[0], false);
}

SEC("raw_tp/inet_sk_error_report")
int reference_reported(struct bpf_raw_tracepoint_args *ctx)
{
	return queued(ctx->args[0], true);
}

/* Does nothing after the first, and its work where the kernel skipped that. */
SEC("raw_tp/inet_sk_error_report")
int reference_reported_again(struct bpf_raw_tracepoint_args *ctx)
{
	return queued(ctx->args[0], true);
}

static __always_inline bool is_coalescing(__u64 location)
{
	int i;

	for (i = 0; i < COALESCE_RANGES; i++)
		if (location >= coalesce_ranges[i].from && location < coalesce_ranges[i].to)
			return true;
	return false;
}

static __always_inline void count_reported(__u64 sk, struct zerocopy_socket *s,
					   struct sock_extended_err *ee)
{
	__u32 sends = window__sends(s, sk, ee->ee_info, ee->ee_data + 1);
	struct totals *t = totals__get();

	if (!t || !sends)
		return;
	count(&t->notifications_read, 1);
	count(&t->reported, sends);
	if (ee->ee_code & SO_EE_CODE_ZEROCOPY_COPIED)
		count(&t->reported_copied, sends);
}

/* NULL unless its socket is watched. */
static __always_inline struct zerocopy_socket *notified(struct sk_buff *skb, __u64 sk,
							struct sock_extended_err *ee)
{
	struct zerocopy_socket *s = bpf_map_lookup_elem(&sockets, &sk);

	if (!s || notification__read(skb, ee) || ee->ee_origin != SO_EE_ORIGIN_ZEROCOPY)
		return NULL;
	return s;
}

static __always_inline bool is_dead(__u64 sk)
{
	__u64 dead = 1ULL << bpf_core_enum_value(enum sock_flags, SOCK_DEAD);

	return BPF_CORE_READ((struct sock *)sk, __sk_common.skc_flags) & dead;
}

/*
 * A closed socket's skb never becomes a notification: it still holds the ubuf, which begins with a
 * pointer; a notification begins with zeros.
 */
static __always_inline struct zerocopy_socket *notified_in_vain(struct sk_buff *skb, __u64 sk,
								struct sock_extended_err *ee)
{
	struct zerocopy_socket *s = bpf_map_lookup_elem(&sockets, &sk);
	void *uarg = (void *)skb + bpf_core_field_offset(struct sk_buff, cb);
	__u64 callback = 0;
	__u32 sends;

	if (s && is_dead(sk))
		bpf_probe_read_kernel(&callback, sizeof(callback), uarg);
	if (!callback)
		return NULL;
	sends = UARG_READ(uarg, len);
	ee->ee_info = UARG_READ(uarg, id);
	ee->ee_data = ee->ee_info + sends - 1;
	ee->ee_code = UARG_READ_BITFIELD(uarg, zerocopy) ? 0 : SO_EE_CODE_ZEROCOPY_COPIED;
	return sends ? s : NULL;
}

/* A reference to a ubuf goes (Linux 7): docs/zerocopy.md, Completion. */
static __always_inline int reference_gone(void *uarg, __u64 success)
{
	__u64 sk = (__u64)uarg_sock(uarg);
	struct zerocopy_socket *s = sockets_watched() ? bpf_map_lookup_elem(&sockets, &sk) : NULL;
	struct ubuf_key key = {.sock = sk};
	struct sock_extended_err ee = {};
	struct ubuf_entry *ubuf;
	__u32 first, end;

	if (!s)
		return 0;
	first = UARG_READ(uarg, id);
	end = first + UARG_READ(uarg, len);
	key.born = s->born;
	key.id = first_watched(s, first);
	if (!id_before(key.id, end))
		return 0;
	ubuf = ubuf__get(&key);
	if (!ubuf)
		return 0;
	if (!(success & 0xff))
		ubuf->flagged = 1;
	if (end - key.id > ubuf->sends) {
		ubuf->bytes = key.id == first ? UARG_READ(uarg, bytelen) : 0;
		ubuf->sends = end - key.id;
	}
	if (!is_dead(sk) || BPF_CORE_READ((struct ubuf_info *)uarg, refcnt.refs.counter) != 1)
		return 0;
	ee.ee_info = first;
	ee.ee_data = end - 1;
	advance(sk, s, &ee, true);
	return 0;
}

SEC("fentry/msg_zerocopy_complete")
int BPF_PROG(reference_fentry, struct sk_buff *skb, void *uarg, __u64 success)
{
	return reference_gone(uarg, success);
}

SEC("fentry/msg_zerocopy_complete")
int BPF_PROG(reference_fentry_again, struct sk_buff *skb, void *uarg, __u64 success)
{
	return reference_gone(uarg, success);
}

static __always_inline void dequeued(struct sk_buff *skb)
{
	struct zerocopy_socket *s;
	struct sock_extended_err ee;
	__u64 sk;

	if (!still_counts() || !skb)
		return;
	sk = (__u64)BPF_CORE_READ(skb, sk);
	s = notified(skb, sk, &ee);
	if (s)
		count_reported(sk, s, &ee);
}

/*
 * An application may read a notification before its report, which then does not find it. A program
 * of its own: older kernels would refuse the one below for it.
 */
SEC("fexit/sock_dequeue_err_skb")
int BPF_PROG(reference_dequeued, struct sock *sk, struct sk_buff *skb)
{
	struct zerocopy_socket *s;
	struct sock_extended_err ee;
	__u64 key; /* a number: sk is a pointer to the verifier, and no argument of a function */

	if (!sockets_watched() || !skb)
		return 0;
	key = (__u64)BPF_CORE_READ(skb, sk);
	s = notified(skb, key, &ee);
	if (s)
		advance(key, s, &ee, true);
	return 0;
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

static __always_inline bool is_read(__u64 location)
{
	int i;

	for (i = 0; i < READ_RANGES; i++)
		if (location >= read_ranges[i].from && location < read_ranges[i].to)
			return true;
	return false;
}

enum freed { FREED_ELSEWHERE, FREED_COALESCED, FREED_READ };

/* A function of its own: what follows is verified once. */
__noinline int freed_how(__u64 location, __u64 destructor)
{
	if (is_read(location))
		return FREED_READ;
	return is_coalescing(location) && destructor == sock_ofree_address ? FREED_COALESCED
									   : FREED_ELSEWHERE;
}

/*
 * An skb freed by the code that made it was coalesced, and still holds its own flag; freed by the
 * code that reads a queue, an application got it. Mostly after notification_queued, on the same
 * CPU; but an application may be faster, or the kernel have skipped that.
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
	s = how == FREED_COALESCED ? notified_in_vain(skb, key, &ee) : NULL;
	if (!s)
		s = notified(skb, key, &ee);
	if (!s)
		return 0;
	counted = counted_in_queue && advance(key, s, &ee, false);
	if (how == FREED_READ ? s->assumed : !counted)
		correct_flags(key, s, &ee, how == FREED_READ);
	if (how == FREED_READ && counts_reported && still_counts())
		count_reported(key, s, &ee);
	return 0;
}

/* args: skb, location */
SEC("raw_tp/consume_skb")
int notification_freed(struct bpf_raw_tracepoint_args *ctx)
{
	return sockets_watched() ? freed((struct sk_buff *)ctx->args[0], ctx->args[1]) : 0;
}

/*
 * Innermost caller of interest, or 0. Read anew: the verifier would go through what follows once
 * for each index.
 */
static __always_inline __u64 caller_of_interest(const __u64 *stack)
{
	__u64 location = 0;
	int i;

	for (i = 0; i < CALLERS; i++) {
		if (!is_coalescing(stack[i]) && !is_read(stack[i]))
			continue;
		bpf_probe_read_kernel(&location, sizeof(location), &stack[i]);
		break;
	}
	return location;
}

/*
 * args: skb. Before "net: add location to trace_consume_skb()" (6.3) the stack has the location;
 * read only for skbs that an error queue is charged for.
 */
SEC("raw_tp/consume_skb")
int notification_freed_in_stack(struct bpf_raw_tracepoint_args *ctx)
{
	struct sk_buff *skb = (struct sk_buff *)ctx->args[0];
	__u64 stack[CALLERS] = {}, location;

	if (!sockets_watched() || (__u64)BPF_CORE_READ(skb, destructor) != sock_ofree_address)
		return 0;
	bpf_get_stack(ctx, stack, sizeof(stack), 0);
	location = caller_of_interest(stack);
	return location ? freed(skb, location) : 0;
}
