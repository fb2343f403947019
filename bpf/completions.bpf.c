// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Completions: which zero-copy sends the kernel flagged as copied, counted before it coalesces
 * notifications and loses flags: docs/zerocopy.md.
 */
#include "flag_batch.bpf.h"
#include "functions.bpf.h"

#define SO_EE_CODE_ZEROCOPY_COPIED 1
#define TRIES			   8
#define CALLERS			   12

/* Addresses from kallsyms; 0 and empty ranges where the kernel hides them. */
const volatile __u64 sock_ofree_address = 0;
const volatile struct address_range coalesce_ranges[COALESCE_RANGES] = {};
/* Is notification_freed attached? It reads the flag of a coalesced notification. */
const volatile bool sees_coalesced = false;
const volatile struct address_range read_ranges[READ_RANGES] = {};
/* Are completions counted at the error queue, or by a function? */
const volatile bool counted_in_queue = false;
/* Does notification_freed count what applications read? */
const volatile bool counts_reported = false;

/* Counts completed sends. Every mechanism calls it once for each send. */
static __noinline void completed(struct zsock *s, __u32 first, __u32 sends, __u32 in_window,
				 __u32 copied)
{
	/* The additions follow each other directly, because --interval may read between them. */
	COUNT(completions, in_window);
	COUNT(flagged, copied);
	groups__count_completions(&s->owner, in_window, copied);
	slots__end(s->sock, first, sends);
	s->freed_to = first + sends;
	timeline__of_ids(EVENT_COMPLETED, s->sock, first, sends, 0, copied);
	__sync_fetch_and_add(&s->waiting, -in_window);
	if (s->closed && s->waiting <= 0)
		zsock__retire(s->sock);
}

/* Counts those of the sends from..to-1 that began before the window. */
static __always_inline void completed_earlier(const struct zsock *s, __u32 from, __u32 to)
{
	if (id_before(s->first, to))
		to = s->first;
	if (id_before(from, to))
		COUNT(completions_before, to - from);
}

/* bytes is 0 if the share of these sends is not known. */
static __always_inline void count_ubuf(struct zsock *s, const struct note *note, __u32 in_window,
				       __u64 bytes, bool copied)
{
	if (!bytes)
		COUNT(unsized_completions, in_window);
	COUNT(bytes, bytes);
	if (copied)
		COUNT(bytes_copied, bytes);
	count_causes(s, note->words, in_window, bytes, copied);
}

/* The last reference to a ubuf is released. */
static __always_inline void uarg_released(void *uarg)
{
	struct zsock *s = zsock__find((__u64)uarg_sock(uarg));
	__u32 first, sends, in_window;
	struct note note;
	bool copied;

	if (!s)
		return;
	sends = UARG_READ(uarg, len); /* 0: the only send was aborted */
	first = UARG_READ(uarg, id);
	in_window = window__sends(s, first, first + sends);
	copied = UARG_COPIED(uarg);
	note__take(s, first_watched(s, first), &note);
	count_ubuf(s, &note, in_window, in_window == sends && sends ? UARG_BYTES(uarg) : 0, copied);
	if (in_window)
		COUNT(ubufs_done, 1);
	completed_earlier(s, first, first + sends);
	completed(s, first, sends, in_window, copied ? in_window : 0);
}

static __always_inline bool completions_count(void)
{
	return notifications_watched() && still_counts();
}

ON_ENTRY(completion, "__msg_zerocopy_callback", if (completions_count()) uarg_released(uarg),
	 void *uarg)

/* Claims the sends up to next: the CPU that moves counted_to counts the sends between. */
static __always_inline bool claim(struct zsock *s, __u32 next, __u32 *old)
{
	int i;

	for (i = 0; i < TRIES; i++) {
		*old = *(volatile __u32 *)&s->counted_to;
		if (!id_before(*old, next))
			return false;
		if (__sync_val_compare_and_swap(&s->counted_to, *old, next) == *old)
			return true;
	}
	COUNT(lost_completions, 1);
	return false;
}

/* Counts the causes of the sends old..next-1, unless their own notifications will be seen. */
static __always_inline void count_batch(struct zsock *s, __u32 old, __u32 next, __u32 tail_first,
					__u32 sends, bool copied)
{
	bool coalesced_with = id_before(tail_first, old);
	__u32 first = coalesced_with ? old : tail_first;
	/* The first ubuf may have begun before its socket was watched: it need not be coalesced. */
	bool coalesced = coalesced_with && old != s->first;
	struct note note;

	if (coalesced && sees_coalesced) {
		batch__add(s, old, first, next, sends, copied, NULL);
	} else {
		note__take(s, first, &note);
		batch__add(s, old, first, next, sends, copied, note.words);
		count_causes(s, note.words, sends, 0, copied);
	}
	if (coalesced)
		COUNT(coalesced, sends);
}

#define UBUFS_AT_ONCE 16
#define UBUF_TURNS    256

/*
 * Counts up to UBUFS_AT_ONCE ubufs of the ids from..to-1 by the notes that their references left.
 * Returns the number of these ids in the upper half, and how many of the window's sends are
 * flagged. A global function that takes only numbers, with a short loop: the verifier checks it
 * once, but every turn of its loop.
 */
__noinline __u64 count_some_ubufs(__u64 sock, __u32 from, __u32 to)
{
	struct zsock *s = zsock__find(sock);
	__u32 first = from, sends, copied = 0, i;
	struct note note;

	for (i = 0; s && i < UBUFS_AT_ONCE && id_before(from, to); i++) {
		note__read(s, from, &note);
		if (!note.sends)
			break;
		note__remove(s, from);
		sends = window__sends(s, from, from + note.sends);
		count_ubuf(s, &note, sends, sends == note.sends ? note.bytes : 0, note.flagged);
		if (note.flagged)
			copied += sends;
		from += note.sends;
	}
	return (__u64)(from - first) << 32 | copied;
}

/*
 * Counts all ubufs of the ids. Sends whose references left no note take the notification's flag and
 * count as lost flags.
 */
static __always_inline __u32 count_ubufs(struct zsock *s, __u32 from, __u32 to,
					 bool notification_copied)
{
	__u32 sends, copied = 0, i;
	__u64 some;

	for (i = 0; i < UBUF_TURNS && id_before(from, to); i++) {
		some = count_some_ubufs(s->sock, from, to);
		copied += (__u32)some;
		if (!(some >> 32))
			break;
		from += some >> 32;
	}
	sends = window__sends(s, from, to);
	COUNT(coalesced, sends);
	COUNT(unsized_completions, sends);
	return notification_copied ? copied + sends : copied;
}

static __always_inline bool claim_and_count(struct zsock *s, const struct sock_extended_err *ee,
					    bool by_reference)
{
	bool copied = ee->ee_code & SO_EE_CODE_ZEROCOPY_COPIED;
	__u32 next = ee->ee_data + 1, old, sends, flagged;

	if (!claim(s, next, &old))
		return false;
	/* Without an earlier notification, the sends before this one's first are not known. */
	completed_earlier(s, s->first - old == LONG_BEFORE ? ee->ee_info : old, next);
	old = first_watched(s, old);
	if (!id_before(old, next))
		return true;
	sends = window__sends(s, old, next);
	if (by_reference) {
		flagged = count_ubufs(s, old, next, copied);
		completed(s, old, next - old, sends, flagged);
		return true;
	}
	/* Keep the batch first: a coalesced notification may be looking for it. */
	count_batch(s, old, next, ee->ee_info, sends, copied);
	if (id_before(old, ee->ee_info)) {
		__sync_fetch_and_add(&s->assumed, ee->ee_info - old);
		COUNT(flag_assumed, window__sends(s, old, ee->ee_info));
	}
	completed(s, old, next - old, sends, copied ? sends : 0);
	return true;
}

/*
 * Counts the sends from counted_to to the end of the notification at the queue's tail. Returns
 * false if they are counted already. by_reference: see reference_gone().
 */
static __noinline bool advance(struct zsock *s, const struct sock_extended_err *ee,
			       bool by_reference)
{
	bool counted;

	/* Mostly another program has counted them: then this one writes nothing. */
	if (!still_counts() || !id_before(*(volatile __u32 *)&s->counted_to, ee->ee_data + 1))
		return false;
	__sync_fetch_and_add(&s->claiming, 1);
	counted = claim_and_count(s, ee, by_reference);
	__sync_fetch_and_add(&s->claiming, -1);
	return counted;
}

/* Corrects the counts of a notification's own sends. */
static __always_inline void correct_flags(struct zsock *s, const struct sock_extended_err *ee,
					  bool is_notification)
{
	__u32 id = first_watched(s, ee->ee_info);

	if (!id_before(ee->ee_data, id))
		flags__correct(s->sock, id, ee->ee_data + 1,
			       (ee->ee_code & SO_EE_CODE_ZEROCOPY_COPIED) | is_notification << 1);
}

/*
 * May the sends of a notification be counted with another's flag? They may also be claimed, but not
 * counted yet.
 */
static __always_inline bool may_be_assumed(const struct zsock *s,
					   const struct sock_extended_err *ee)
{
	return s->assumed || id_before(s->freed_to, ee->ee_data + 1);
}

/* Each ubuf is queued once, but the tail is reported again when what is before it is read. */
static __always_inline void notified(struct zsock *s, const struct sock_extended_err *ee)
{
	__u32 to = ee->ee_data + 1;

	if (s->notified_to == to || __sync_lock_test_and_set(&s->notified_to, to) == to)
		return;
	timeline__of_ids(EVENT_NOTIFIED, s->sock, ee->ee_info, to - ee->ee_info, 0, ee->ee_code);
	if (still_counts() && window__sends(s, ee->ee_data, to))
		COUNT(ubufs_done, 1);
}

/*
 * A notification was queued, or coalesced with the tail. The tail's flag counts for all of its
 * sends until notification_freed corrects it.
 */
static __always_inline int queued(struct sock *sk, bool by_reference)
{
	struct zsock *s = notifications_watched() ? zsock__find((__u64)sk) : NULL;
	struct sock_extended_err ee;

	if (!s || !last_notification(sk, &ee))
		return 0;
	notified(s, &ee);
	advance(s, &ee, by_reference);
	if (may_be_assumed(s, &ee))
		correct_flags(s, &ee, true);
	corrections__make(s);
	return 0;
}

SEC("raw_tp/inet_sk_error_report")
int BPF_PROG(notification_queued, struct sock *sk)
{
	return queued(sk, false);
}

SEC("raw_tp/inet_sk_error_report")
int BPF_PROG(reference_reported, struct sock *sk)
{
	return queued(sk, true);
}

/*
 * Attached twice: the second program does the work if the kernel skipped the first, else nothing.
 */
SEC("raw_tp/inet_sk_error_report")
int BPF_PROG(reference_reported_again, struct sock *sk)
{
	return queued(sk, true);
}

static __always_inline void count_reported(struct zsock *s, const struct sock_extended_err *ee)
{
	__u32 sends = window__sends(s, ee->ee_info, ee->ee_data + 1);

	if (!sends)
		return;
	timeline__of_ids(EVENT_READ, s->sock, ee->ee_info, ee->ee_data - ee->ee_info + 1, 0,
			 ee->ee_code);
	COUNT(notifications_read, 1);
	COUNT(reported, sends);
	if (ee->ee_code & SO_EE_CODE_ZEROCOPY_COPIED)
		COUNT(errqueue_copied, sends);
}

/* Is it a zero-copy notification? */
static __always_inline bool is_notification(struct sk_buff *skb, struct sock_extended_err *ee)
{
	return !notification__read(skb, ee) && ee->ee_origin == SO_EE_ORIGIN_ZEROCOPY;
}

static __always_inline bool is_dead(__u64 sock)
{
	__u64 dead = 1ULL << bpf_core_enum_value(enum sock_flags, SOCK_DEAD);

	return READ((struct sock *)sock, __sk_common.skc_flags) & dead;
}

/*
 * The skb of a closed socket never becomes a notification and still holds the ubuf. A ubuf begins
 * with a pointer, a notification with zeros.
 */
static __always_inline bool is_notified_in_vain(struct sk_buff *skb, __u64 sock,
						struct sock_extended_err *ee)
{
	void *uarg = (void *)skb + bpf_core_field_offset(struct sk_buff, cb);
	__u64 callback = 0;
	__u32 sends;

	if (is_dead(sock))
		bpf_probe_read_kernel(&callback, sizeof(callback), uarg);
	if (!callback)
		return false;
	sends = UARG_READ(uarg, len);
	ee->ee_info = UARG_READ(uarg, id);
	ee->ee_data = ee->ee_info + sends - 1;
	ee->ee_code = UARG_COPIED(uarg) ? SO_EE_CODE_ZEROCOPY_COPIED : 0;
	return sends;
}

/* A reference to a ubuf is released (Linux 7): see Completion in docs/zerocopy.md. */
static __always_inline int reference_gone(void *uarg, __u64 success)
{
	__u64 sock = (__u64)uarg_sock(uarg);
	struct zsock *s = notifications_watched() ? zsock__find(sock) : NULL;
	struct sock_extended_err ee = {};
	__u32 first, end, id;
	struct note *note;

	if (!s)
		return 0;
	first = UARG_READ(uarg, id);
	end = first + UARG_READ(uarg, len);
	id = first_watched(s, first);
	if (!id_before(id, end))
		return 0;
	note = note__spilled(s, id);
	if (!note)
		return 0;
	if (!(success & 0xff))
		note->flagged = 1;
	if (end - id > note->sends) {
		note->bytes = id == first ? UARG_BYTES(uarg) : 0;
		note->sends = end - id;
	}
	if (!is_dead(sock) || READ((struct ubuf_info *)uarg, refcnt.refs.counter) != 1)
		return 0;
	ee.ee_info = first;
	ee.ee_data = end - 1;
	advance(s, &ee, true);
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

/*
 * An application took an skb from an error queue. Returns the watched socket of which it is a
 * notification, or NULL.
 */
static __always_inline struct zsock *dequeued_from(struct sk_buff *skb,
						   struct sock_extended_err *ee)
{
	struct zsock *s = zsock__find((__u64)READ(skb, sk));

	return s && is_notification(skb, ee) ? s : NULL;
}

/*
 * An application may read a notification before the hook of its report looks for it in the queue:
 * this program counts it then. It is separate from dequeued_fexit, which older kernels would
 * otherwise refuse.
 */
SEC("fexit/sock_dequeue_err_skb")
int BPF_PROG(reference_dequeued, struct sock *sk, struct sk_buff *skb)
{
	struct sock_extended_err ee;
	struct zsock *s;

	s = notifications_watched() && skb ? dequeued_from(skb, &ee) : NULL;
	if (s)
		advance(s, &ee, true);
	return 0;
}

static __always_inline void dequeued(struct sk_buff *skb)
{
	struct sock_extended_err ee;
	struct zsock *s;

	s = completions_count() && skb ? dequeued_from(skb, &ee) : NULL;
	if (s)
		count_reported(s, &ee);
}

ON_RESULT(dequeued, "sock_dequeue_err_skb", 1, struct sk_buff *, dequeued(ret))

static __always_inline bool is_within(__u64 location, const volatile struct address_range *ranges,
				      int count)
{
	int i;

	for (i = 0; i < count; i++)
		if (location >= ranges[i].from && location < ranges[i].to)
			return true;
	return false;
}

#define IS_COALESCING(location) is_within(location, coalesce_ranges, COALESCE_RANGES)
#define IS_READ(location)	is_within(location, read_ranges, READ_RANGES)

/*
 * A notification's skb is freed. If the code that made it frees it, it was coalesced, and still has
 * its own flag; if the code that reads the queue frees it, an application got it. Usually
 * notification_queued ran before, on the same CPU; but an application may be faster, or the kernel
 * may have skipped that program.
 */
static __noinline void freed(struct sk_buff *skb, bool read)
{
	struct sock_extended_err ee = {};
	struct zsock *s;
	bool counted;

	if (!read && (__u64)READ(skb, destructor) != sock_ofree_address)
		return;
	s = zsock__find((__u64)READ(skb, sk));
	if (!s || !((!read && is_notified_in_vain(skb, s->sock, &ee)) || is_notification(skb, &ee)))
		return;
	read = opaque(read);
	counted = counted_in_queue && advance(s, &ee, false);
	if (read ? may_be_assumed(s, &ee) : !counted)
		correct_flags(s, &ee, read);
	corrections__make(s);
	if (read && counts_reported && still_counts())
		count_reported(s, &ee);
}

static __always_inline void freed_at(struct sk_buff *skb, __u64 location)
{
	bool read = IS_READ(location);

	if (read || IS_COALESCING(location))
		freed(skb, read);
}

SEC("raw_tp/consume_skb")
int BPF_PROG(notification_freed, struct sk_buff *skb, __u64 location)
{
	if (notifications_watched())
		freed_at(skb, location);
	return 0;
}

/*
 * The innermost caller in one of the ranges, or 0. The location is read from the stack again,
 * because the verifier would otherwise check all that follows once per index.
 */
static __always_inline __u64 caller_of_interest(const __u64 *stack)
{
	__u64 location = 0;
	int i;

	for (i = 0; i < CALLERS; i++) {
		if (!IS_COALESCING(stack[i]) && !IS_READ(stack[i]))
			continue;
		bpf_probe_read_kernel(&location, sizeof(location), &stack[i]);
		break;
	}
	return location;
}

/*
 * Before "net: add location to trace_consume_skb()" (6.3) only the stack has the location. It is
 * read only for skbs that are charged to an error queue.
 */
SEC("raw_tp/consume_skb")
int BPF_PROG(notification_freed_in_stack, struct sk_buff *skb)
{
	__u64 stack[CALLERS] = {};

	if (!notifications_watched() || (__u64)READ(skb, destructor) != sock_ofree_address)
		return 0;
	bpf_get_stack(ctx, stack, sizeof(stack), 0);
	freed_at(skb, caller_of_interest(stack));
	return 0;
}
