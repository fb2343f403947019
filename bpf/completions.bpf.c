// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Completions: for each zero-copy send, did the kernel flag it as copied? Counted before the
 * kernel coalesces notifications and forgets flags: docs/zerocopy.md has the whole life of a send.
 */
#include "counted.bpf.h"
#include "flight.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define SO_EE_CODE_ZEROCOPY_COPIED 1
#define TRIES			   8
#define CALLERS			   12

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
 * The kernel is done with these sends of a socket, so many of which are the window's; every
 * mechanism comes by here, once a send. Both numbers one after the other: a line of an
 * interval may be read in between.
 */
static __always_inline void completed(__u64 sock, struct zerocopy_socket *s, struct totals *t,
				      __u32 first, __u32 sends, __u32 in_window, __u32 copied)
{
	count(&t->completions, in_window);
	count(&t->copied, copied);
	groups__complete(&s->who, in_window, copied);
	land(sock, first, sends);
	__sync_fetch_and_add(&s->waiting, -in_window);
	if (s->closed && s->waiting <= 0)
		socket__retire(sock);
}

/* Sends from an id to before another completed: those of before the window are told apart. */
static __always_inline void completed_earlier(const struct zerocopy_socket *s, struct totals *t,
					      __u32 from, __u32 to)
{
	if (id_before(s->first, to))
		to = s->first;
	if (id_before(from, to))
		count(&t->completions_before, to - from);
}

/* The last reference to a run of sends goes: what became of them is settled. */
static __always_inline void settled(void *uarg)
{
	__u64 sk = (__u64)uarg_sock(uarg);
	struct zerocopy_socket *s = bpf_map_lookup_elem(&sockets, &sk);
	struct totals *t = totals__get();
	struct run_key run = {.sock = sk};
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
	run.born = s->born;
	run.id = first_watched(s, first);
	run__completed(&run, in_window, bytes, copied);
	if (in_window)
		count(&t->runs, 1);
	count(&t->bytes, bytes);
	if (copied)
		count(&t->bytes_copied, bytes);
	completed_earlier(s, t, first, first + sends);
	completed(sk, s, t, first, sends, in_window, copied ? in_window : 0);
}

/* What is counted is the window's: where only earlier counts are mended, it is over. */
static __always_inline bool still_counts(void)
{
	return gate == GATE_OPEN || gate == GATE_CLOSING;
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
					 __u32 old, __u32 next, __u32 record_first, __u32 sends,
					 bool copied)
{
	bool joined = id_before(record_first, old);
	struct run_key run = {.sock = sk, .born = s->born, .id = joined ? old : record_first};
	/* The first may have begun before its socket was watched. */
	bool merged = joined && old != s->first;
	struct run marks;

	if (merged && merges_seen) {
		counted__add(s, old, run.id, next, sends, copied, NULL);
	} else {
		run__take(&run, &marks);
		counted__add(s, old, run.id, next, sends, copied, &marks);
		marks__count(sk, &marks, sends, 0, copied);
	}
	if (merged)
		count(&t->merged, sends);
}

#define RUNS_AT_ONCE 16

/*
 * Runs from an id to before another completed, which their last references told of: how many of
 * the window's sends in them are flagged. Of what was not seen to go the record's flag is taken,
 * and lost. A function of its own: verified once.
 */
__noinline __u32 count_runs(__u64 sock, __u32 from, __u32 to, __u32 record_copied)
{
	struct zerocopy_socket *s = bpf_map_lookup_elem(&sockets, &sock);
	struct totals *t = totals__get();
	__u32 sends, copied = 0, i;
	struct run_key key = {.sock = sock};
	struct kept_run *kept, run;

	if (!s || !t)
		return 0;
	key.born = s->born;
	for (i = 0; i < RUNS_AT_ONCE && id_before(from, to); i++) {
		key.id = from;
		kept = bpf_map_lookup_elem(&runs, &key);
		if (!kept || !kept->sends)
			break;
		run = *kept;
		bpf_map_delete_elem(&runs, &key);
		sends = window__sends(s, sock, from, from + run.sends);
		if (sends != run.sends)
			run.bytes = 0;
		if (!run.bytes)
			count(&t->unsized_completions, sends);
		count(&t->bytes, run.bytes);
		if (run.flagged) {
			copied += sends;
			count(&t->bytes_copied, run.bytes);
		}
		marks__count(sock, &run.run, sends, run.bytes, run.flagged);
		from += run.sends;
	}
	sends = window__sends(s, sock, from, to);
	count(&t->merged, sends);
	count(&t->unsized_completions, sends);
	return record_copied ? copied + sends : copied;
}

/*
 * Counts the ids from the socket's progress to the end of the record at the queue's tail.
 * False if that had been done, by this or another CPU. by_reference: the runs left word
 * themselves, see reference_gone().
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
	/* Before the first of them it is not known which were completed. */
	completed_earlier(s, t, s->first - old == LONG_BEFORE ? ee->ee_info : old, next);
	old = first_watched(s, old);
	if (!id_before(old, next))
		return true;
	sends = window__sends(s, sk, old, next);
	if (by_reference) {
		completed(sk, s, t, old, next - old, sends, count_runs(sk, old, next, copied));
		return true;
	}
	/* First of all: what joined a record looks for the count of it, perhaps by now. */
	count_causes(sk, s, t, old, next, ee->ee_info, sends, copied);
	if (id_before(old, ee->ee_info)) {
		__sync_fetch_and_add(&s->assumed, ee->ee_info - old);
		count(&t->flag_assumed, window__sends(s, sk, old, ee->ee_info));
	}
	completed(sk, s, t, old, next - old, sends, copied ? sends : 0);
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
static __always_inline int queued(__u64 key, bool by_reference)
{
	struct zerocopy_socket *s = gate ? bpf_map_lookup_elem(&sockets, &key) : NULL;
	struct sock_extended_err ee;
	struct totals *t;

	if (!s || !last_notification((struct sock *)key, &ee))
		return 0;
	/* One report a run, but where it is of a connection that failed. */
	t = totals__get();
	if (t && still_counts() && window__has(s, ee.ee_data) &&
	    !BPF_CORE_READ((struct sock *)key, sk_err))
		count(&t->runs, 1);
	advance(key, s, &ee, by_reference);
	if (s->assumed)
		mend(key, s, &ee, true);
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

/* It changes nothing where the first ran; where the kernel skipped that, it does the same. */
SEC("raw_tp/inet_sk_error_report")
int reference_reported_again(struct bpf_raw_tracepoint_args *ctx)
{
	return queued(ctx->args[0], true);
}

static __always_inline bool is_merge(__u64 location)
{
	int i;

	for (i = 0; i < MERGE_RANGES; i++)
		if (location >= merge_ranges[i].from && location < merge_ranges[i].to)
			return true;
	return false;
}

static __always_inline void count_told(__u64 sk, struct zerocopy_socket *s,
				       struct sock_extended_err *ee)
{
	__u32 sends = window__sends(s, sk, ee->ee_info, ee->ee_data + 1);
	struct totals *t = totals__get();

	if (!t || !sends)
		return;
	count(&t->records, 1);
	count(&t->told, sends);
	if (ee->ee_code & SO_EE_CODE_ZEROCOPY_COPIED)
		count(&t->told_copied, sends);
}

/* The socket that this is a notification for, if it is watched. */
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
 * The same of one that was to become a notification. Of a closed socket it does not: what it
 * holds is still the kernel's bookkeeping of the sends, which begins with a pointer; a
 * notification begins with zeros.
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

/*
 * A reference to a run of sends goes, for Linux 7 where nothing else tells of the last one. As
 * two CPUs may let go of the last two at once, none of them is known to be it: each leaves what
 * it knows, and the report of the notification, which comes after all, finds it. Nobody is
 * notified for a closed socket: there the last one counts itself.
 */
static __always_inline int reference_gone(void *uarg, __u64 success)
{
	__u64 sk = (__u64)uarg_sock(uarg);
	struct zerocopy_socket *s = gate ? bpf_map_lookup_elem(&sockets, &sk) : NULL;
	struct run_key key = {.sock = sk};
	struct sock_extended_err ee = {};
	struct kept_run *run;
	__u32 first, end;

	if (!s)
		return 0;
	first = UARG_READ(uarg, id);
	end = first + UARG_READ(uarg, len);
	key.born = s->born;
	key.id = first_watched(s, first);
	if (!id_before(key.id, end))
		return 0;
	run = run__get(&key);
	if (!run)
		return 0;
	if (!(success & 0xff))
		run->flagged = 1;
	if (end - key.id > run->sends) {
		run->bytes = key.id == first ? UARG_READ(uarg, bytelen) : 0;
		run->sends = end - key.id;
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

/* An application took this from an error queue. */
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
		count_told(sk, s, &ee);
}

/*
 * Beside the references: an application may be faster than the report of a notification, which
 * then finds it no more. Not part of the program below, which older kernels would refuse for it.
 */
SEC("fexit/sock_dequeue_err_skb")
int BPF_PROG(reference_dequeued, struct sock *sk, struct sk_buff *skb)
{
	struct zerocopy_socket *s;
	struct sock_extended_err ee;
	__u64 key; /* a number: sk is a pointer to the verifier, and no argument of a function */

	if (!gate || !skb)
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
	s = how == FREED_JOINED ? notified_in_vain(skb, key, &ee) : NULL;
	if (!s)
		s = notified(skb, key, &ee);
	if (!s)
		return 0;
	counted = counted_in_queue && advance(key, s, &ee, false);
	if (how == FREED_READ ? s->assumed : !counted)
		mend(key, s, &ee, how == FREED_READ);
	if (how == FREED_READ && counts_told && still_counts())
		count_told(key, s, &ee);
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
