// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Counts completions, and which zero-copy sends the kernel flagged as copied, before it coalesces
 * notifications and loses flags: see docs/zerocopy.md.
 */
#include "causes.bpf.h"
#include "functions.bpf.h"

#define SO_EE_CODE_ZEROCOPY_COPIED 1
#define CALLERS			   12

/* Addresses from kallsyms; 0 and empty ranges if the kernel hides them. */
const volatile __u64 sock_ofree_address = 0;
const volatile struct address_range coalesce_ranges[COALESCE_RANGES] = {};
/* True if notification_freed is attached, which reads the flag of a coalesced notification. */
const volatile bool sees_coalesced = false;
const volatile struct address_range read_ranges[READ_RANGES] = {};
/* True if completions are counted at the error queue, not by a hooked function. */
const volatile bool counted_in_queue = false;
/* True if notification_freed counts what applications read. */
const volatile bool counts_reported = false;

/* How a program knows that sends completed, and with which flag; a set of bits. */
enum witness {
	WITNESS_FLAG = SO_EE_CODE_ZEROCOPY_COPIED, /* the sends are flagged as copied */
	WITNESS_OWN = 2,			   /* the flag is the sends' own */
	WITNESS_COALESCED = 4,	/* the sends' notification was coalesced with an earlier one */
	WITNESS_SIZED = 8,	/* the bytes of whole ubufs are known */
	WITNESS_LATE = 16,	/* the window is over: only flags are corrected */
	WITNESS_CONTINUES = 32, /* earlier sends of the same notifications were counted just now */
};

/* Returns the state of a send after a program with these witness bits has counted it. */
static __always_inline __u32 state_after(__u32 how)
{
	__u32 flag = how & WITNESS_FLAG;

	if (how & WITNESS_OWN)
		return SEND_FINAL | flag;
	return how & WITNESS_COALESCED && sees_coalesced ? SEND_ASSUMED | flag
							 : SEND_NOTIFIED | flag;
}

/* Returns whether a send in this state still needs a program with these witness bits. */
static __always_inline bool needs(__u32 state, __u32 how)
{
	if (state == SEND_IN_FLIGHT)
		return !(how & WITNESS_LATE);
	return state && how & WITNESS_OWN && WITHOUT_FLAG(state) != SEND_FINAL;
}

/* A slot's contents before its send was claimed. */
struct claimed {
	__u32 state;
	__u32 bytes;
	__u64 start;
	union note counted;
};

/*
 * Claims a send by its state. Fills in `was`, because the slot may soon belong to another send.
 * note: the causes with which the send is counted. Returns false if another program has counted the
 * send, or keeps its slot.
 */
static __noinline bool send__claim(struct slot *slot, const struct send_key *key, __u32 how,
				   const union note *note, struct claimed *was)
{
	bool needed;

	if (!needs(slot__state(slot), how) || !slot__take(slot))
		return false;
	was->state = slot__state(slot);
	needed = slot->claim == claim_of(key, was->state) && needs(was->state, how);
	if (needed) {
		was->bytes = slot->bytes;
		was->start = slot->start;
		was->counted = slot->counted;
		slot->counted = *note;
		*(volatile __u64 *)&slot->claim = claim_of(key, state_after(how));
	}
	slot__release(slot);
	if (needed && slot != slot__of(key) && WITHOUT_FLAG(state_after(how)) != SEND_ASSUMED)
		slot__delete_more(key);
	return needed;
}

/*
 * Counts the causes of a claimed send. If the send was counted before with another flag or other
 * causes, replaces these.
 */
static __always_inline int send__count_causes(struct zsock *s, const struct claimed *was,
					      const union note *note, __u32 how)
{
	bool flag = how & WITNESS_FLAG, before = HAS_FLAG(was->state);

	if (was->state != SEND_IN_FLIGHT) {
		if (how & WITNESS_COALESCED) {
			if (WITHOUT_FLAG(was->state) == SEND_NOTIFIED)
				COUNT(coalesced, 1);
			COUNT(coalesced_seen, 1);
		}
		if (flag == before && note->words[0] == was->counted.words[0] &&
		    note->words[1] == was->counted.words[1])
			return 0;
		count_causes(s, &was->counted, -1, 0, before);
	}
	count_causes(s, note, 1, 0, flag);
	if (was->state == SEND_IN_FLIGHT || flag == before)
		return 0;
	if (flag)
		COUNT(flag_added, 1);
	else
		COUNT(flag_retracted, 1);
	groups__count_completions(&s->owner, 0, (__s64)flag - before);
	return 0;
}

#define SENDS_AT_ONCE 4

/*
 * Counts up to SENDS_AT_ONCE sends, except those that a program has already counted. range: the
 * first id and, in the upper half, the number of sends; low, high: the note of their ubuf, if it is
 * known. Returns how many sends it counted.
 */
GLOBAL __u32 sends__count_some(__u64 sock, __u64 range, __u32 how, __u64 low, __u64 high)
{
	struct send_key send = {.sock = sock, .id = range};
	struct zsock *s = bpf_map_lookup_elem(&sockets, &send.sock);
	union note note = {.words = {low, high}};
	__u32 counted = opaque_zero, i;
	struct claimed was;
	struct slot *slot;
	bool begins;
	__u64 now;

	if (!s)
		return 0;
	send.generation = s->generation;
	if (!(how & WITNESS_OWN))
		note = s->note;
	now = bpf_ktime_get_ns();
	for (i = 0; i < SENDS_AT_ONCE && i < range >> 32; i++, send.id++) {
		slot = slot__find(&send);
		if (!slot)
			continue;
		/* If only the tail is known, its first send and each with a note begin a ubuf. */
		begins = (!i && !(how & WITNESS_CONTINUES)) ||
			 slot->note.words[0] | slot->note.words[1];
		if (!(opaque(how) & WITNESS_OWN) && begins)
			note = slot->note;
		if (!send__claim(slot, &send, how, &note, &was))
			continue;
		if (was.state != SEND_IN_FLIGHT || !(opaque(how) & WITNESS_OWN))
			send__count_causes(s, &was, &note, how);
		if (was.state != SEND_IN_FLIGHT)
			continue;
		counted++;
		pinned__free(&pinned, was.bytes);
		if (!s->order_unknown)
			completion_took(SPAN_COMPLETION, now - was.start);
	}
	if (!(how & WITNESS_OWN))
		s->note = note;
	if (counted)
		timeline__of_ids(EVENT_COMPLETED, send.sock, range, counted, 0,
				 how & WITNESS_FLAG ? counted : 0);
	return counted;
}

/* The number of a ubuf's sends has 16 bits. */
#define SENDS_OF_UBUF 65536

/*
 * Defines a function like sends__count_some(), which counts up to `most` sends, `step` at once. The
 * verifier checks each turn of a loop: two such functions together have fewer turns than one. A
 * third would need more stack than Linux 6.12 has.
 */
#define COUNTS(name, most, count, step)                                                   \
	GLOBAL __u32 name(__u64 sock, __u64 range, __u32 how, __u64 low, __u64 high)      \
	{                                                                                 \
		__u32 counted = 0, i;                                                     \
                                                                                          \
		for (i = 0; i < (most) / (step); i++) {                                   \
			counted += count(sock, range, how, low, high);                    \
			if (range >> 32 <= (step))                                        \
				break;                                                    \
			range = ((range >> 32) - (step)) << 32 | (__u32)(range + (step)); \
			how |= WITNESS_CONTINUES;                                         \
		}                                                                         \
		return counted;                                                           \
	}

COUNTS(sends__count_512, 512, sends__count_some, SENDS_AT_ONCE)
COUNTS(sends__count_ubuf, SENDS_OF_UBUF, sends__count_512, 512)

/* Sends that completed, and what is known of them. */
struct completion {
	struct send_key send; /* the first of them */
	__u32 sends;
	__u32 how;	 /* enum witness */
	union note note; /* of their ubuf, if it is known */
	__u64 bytes;	 /* of their ubuf; 0: not known */
	__u64 tail;	 /* the queue's tail, which ends with these sends; 0: it was not read */
};

static __always_inline __u32 sends__count(const struct completion *c)
{
	__u64 range = (__u64)c->sends << 32 | c->send.id;

	if (c->sends <= SENDS_AT_ONCE)
		return sends__count_some(c->send.sock, range, c->how, c->note.words[0],
					 c->note.words[1]);
	return sends__count_ubuf(c->send.sock, range, c->how, c->note.words[0], c->note.words[1]);
}

/*
 * Counts the sends, except those that a program has already counted. The entry of their socket
 * exists while uncounted sends are waiting; otherwise, another CPU may have removed it.
 */
static __always_inline __u32 completed(struct zsock *s, const struct completion *c)
{
	__u32 counted = sends__count(c), how = c->how, flagged;
	__u64 bytes = counted == c->sends ? c->bytes : 0;

	if (!counted)
		return 0;
	flagged = how & WITNESS_FLAG ? counted : 0;
	/* The additions follow each other directly, because --interval may read between them. */
	COUNT(completions, counted);
	if (flagged)
		COUNT(flagged, flagged);
	groups__count_completions(&s->owner, counted, flagged);
	if (how & WITNESS_COALESCED)
		COUNT(coalesced, counted);
	if (how & WITNESS_COALESCED && how & WITNESS_OWN)
		COUNT(coalesced_seen, counted);
	if (how & WITNESS_SIZED && !bytes)
		COUNT(unsized_completions, counted);
	if (bytes)
		COUNT(bytes, bytes);
	if (bytes && flagged)
		COUNT(bytes_copied, bytes);
	if (how & WITNESS_OWN)
		count_causes(s, &c->note, counted, bytes, flagged);
	if (c->tail)
		*(volatile __u64 *)&s->tail = c->tail;
	if (s->waiting <= (__s32)counted)
		last_send__end(&s->last, (struct sock *)s->sock);
	__sync_fetch_and_add(&s->waiting, -counted);
	if (s->closed && s->waiting <= 0)
		zsock__remove(c->send.sock, s, true);
	return counted;
}

/* Returns how many of the sends first..end-1 began before the window. */
static __always_inline __u32 earlier_sends(const struct zsock *s, __u32 first, __u32 end)
{
	if (id_before(s->first, end))
		end = s->first;
	return id_before(first, end) ? end - first : 0;
}

/*
 * Counts the sends before `end` that began before the window, except those already counted. Without
 * an earlier notification, sends before `first` are not known.
 */
static __always_inline void completed_earlier(struct zsock *s, __u32 first, __u32 end)
{
	__u32 from = *(volatile __u32 *)&s->earlier_to;

	if (!id_before(from, s->first) || !id_before(from, end))
		return;
	if (__sync_val_compare_and_swap(&s->earlier_to, from, end) == from)
		COUNT(completions_before,
		      earlier_sends(s, s->first - from == LONG_BEFORE ? first : from, end));
}

/* Counts the sends first..end-1, a ubuf whose flag is known. Returns how many it counted. */
static __always_inline __u32 ubuf_completed(struct zsock *s, __u32 first, __u32 end, __u32 how,
					    __u64 bytes)
{
	struct completion c = {
		.send = {s->sock, s->generation, first_watched(s, first)},
		.how = opaque(how | WITNESS_OWN),
	};
	struct send_key noted = c.send;
	struct slot *slot;

	if (!id_before(c.send.id, end))
		return 0;
	c.sends = end - c.send.id;
	if (c.send.id == first)
		c.bytes = bytes;
	slot = slot__first_of(&noted, c.sends);
	if (slot)
		c.note = slot->note;
	return completed(s, &c);
}

/* The last reference to a ubuf is released. */
static __always_inline void uarg_released(void *uarg)
{
	struct zsock *s = sockets_watched() ? zsock__find((__u64)uarg_sock(uarg)) : NULL;
	__u32 first, end;

	if (!s || !still_counts())
		return;
	first = UARG_READ(uarg, id);
	end = first + UARG_READ(uarg, len); /* len is 0 if the only send was aborted */
	COUNT(completions_before, earlier_sends(s, first, end));
	if (ubuf_completed(s, first, end, (UARG_COPIED(uarg) ? WITNESS_FLAG : 0) | WITNESS_SIZED,
			   UARG_BYTES(uarg)))
		COUNT(ubufs_done, 1);
}

#define LAST_RELEASE "__msg_zerocopy_callback"

TWICE("fentry/" LAST_RELEASE, completion_fentry, PAIR_COMPLETION, uarg, uarg_released(uarg),
      void *uarg)
PROGRAM("kprobe/" LAST_RELEASE, BPF_KPROBE, completion_kprobe, uarg_released(uarg), void *uarg)

/*
 * Counts the ubuf that begins with this id. Its slot has the flag, the bytes and the number of
 * sends that the released references of the ubuf left there. If they left nothing, counts one send,
 * with the notification's flag. Returns the number of sends.
 */
GLOBAL __u32 ubuf__count(__u64 sock, __u32 id, __u32 flag)
{
	struct zsock *s = zsock__find(sock);
	struct send_key key = {.sock = sock, .id = id};
	struct released_ubuf ubuf;
	struct slot *slot;

	if (!s)
		return 1;
	key.generation = s->generation;
	slot = slot__find(&key);
	if (!slot || slot__state(slot) != SEND_IN_FLIGHT)
		return 1;
	ubuf = slot->released;
	if (!ubuf.sends) {
		COUNT(coalesced, 1);
		ubuf.sends = 1;
		ubuf.flagged = flag;
		ubuf.bytes = 0;
	}
	ubuf_completed(s, id, id + ubuf.sends, (ubuf.flagged ? WITNESS_FLAG : 0) | WITNESS_SIZED,
		       ubuf.bytes);
	return ubuf.sends;
}

#define UBUFS_AT_ONCE 2048

/*
 * Counts the sends of a notification that are not counted yet. If it is the queue's tail, these are
 * the sends by which the tail grew since it was last counted. by_reference: see reference_gone().
 */
static __always_inline void notification_seen(struct zsock *s, const struct sock_extended_err *ee,
					      bool is_tail, bool by_reference)
{
	__u32 end = ee->ee_data + 1, from = ee->ee_info, flag = ee->ee_code & WITNESS_FLAG;
	struct completion c = {
		.send = {.sock = s->sock, .generation = s->generation},
		.how = flag,
	};
	__u64 tail = *(volatile __u64 *)&s->tail;
	__u32 i;

	if ((__u32)tail == from) {
		from = tail >> 32;
		c.how |= WITNESS_COALESCED;
	}
	c.how = opaque(c.how);
	if (!still_counts() || !id_before(from, end))
		return;
	completed_earlier(s, from, end);
	c.send.id = first_watched(s, from);
	if (*(volatile __s32 *)&s->waiting <= 0 || !id_before(c.send.id, end))
		return;
	c.sends = end - c.send.id;
	c.tail = is_tail ? TAIL(ee->ee_info, end) : 0;
	if (!by_reference) {
		completed(s, &c);
		return;
	}
	from = c.send.id;
	for (i = 0; i < UBUFS_AT_ONCE && id_before(from, end); i++)
		from += ubuf__count(c.send.sock, from, flag);
	s = is_tail ? zsock__find(c.send.sock) : NULL;
	if (s)
		*(volatile __u64 *)&s->tail = c.tail;
}

/* A ubuf is queued once, but the tail is reported again when earlier notifications are read. */
static __always_inline void notified(struct zsock *s, const struct sock_extended_err *ee)
{
	__u32 to = ee->ee_data + 1;

	if (s->notified_to == to || __sync_lock_test_and_set(&s->notified_to, to) == to)
		return;
	timeline__of_ids(EVENT_NOTIFIED, s->sock, ee->ee_info, to - ee->ee_info, 0, ee->ee_code);
	if (still_counts() && window__sends(s, ee->ee_data, to))
		COUNT(ubufs_done, 1);
}

/* A notification was queued, or coalesced with the tail. */
static __always_inline void queued(struct sock *sk, bool by_reference)
{
	struct zsock *s = sockets_watched() ? zsock__find((__u64)sk) : NULL;
	struct sock_extended_err ee;

	if (!s || !last_notification(sk, &ee))
		return;
	notified(s, &ee);
	notification_seen(s, &ee, true, by_reference);
}

PROGRAM("raw_tp/inet_sk_error_report", BPF_PROG, notification_queued, queued(sk, false),
	struct sock *sk)

TWICE("raw_tp/inet_sk_error_report", reference_reported, PAIR_REPORT, sk, queued(sk, true),
      struct sock *sk)

/* The socket is destroyed. The kernel may have skipped the program of its last notification. */
PROGRAM(PROTO_SOCKET_GONE, BPF_PROG, notification_left, queued(sk, false), struct sock *sk)

/* The socket is destroyed. Its queued data complete after this. */
static __always_inline void socket_destroyed(__u64 sock)
{
	struct zsock *s = *(volatile __u32 *)&sockets_kept ? zsock__find(sock) : NULL;

	if (!s || s->closed)
		return;
	__sync_fetch_and_add(&sockets_closed, 1);
	/* Atomic: of this and completed(), one must see what the other did. */
	__sync_fetch_and_add(&s->closed, 1);
	if (s->waiting <= 0)
		zsock__remove(sock, s, true);
}

TWICE(PROTO_SOCKET_GONE, socket_gone, PAIR_SOCKET, sock, socket_destroyed(sock), __u64 sock)

/* Returns whether a closed socket's memory is another socket's, which has given fewer ids. */
static __always_inline bool is_reused(const struct zsock *s)
{
	return s->closed && id_before(next_id((struct sock *)s->sock), s->next);
}

static long zsock__check(void *map, __u64 *sock, struct zsock *s, void *unused)
{
	if (is_freed(*sock) || is_reused(s)) {
		zsock__end(*sock);
	} else if (completed_sends(s) > 0) {
		open_queues.sockets++;
		open_queues.unread += never_read(s);
	}
	return 0;
}

/*
 * The analyzer runs this program before it reads counts; the tracepoint does not. It finds sockets
 * whose end no program saw, because the kernel skipped it. No send of a freed socket is in flight.
 */
PROGRAM(PROTO_SOCKET_GONE, BPF_PROG, sockets_checked,
	open_queues = (struct error_queues){.counted = 1};
	bpf_for_each_map_elem(&sockets, zsock__check, NULL, 0))

static __always_inline void count_reported(struct zsock *s, const struct sock_extended_err *ee)
{
	__u32 sends = window__sends(s, ee->ee_info, ee->ee_data + 1);

	if (!sends)
		return;
	s->queue_read = 1;
	timeline__of_ids(EVENT_READ, s->sock, ee->ee_info, ee->ee_data - ee->ee_info + 1, 0,
			 ee->ee_code);
	COUNT(notifications_read, 1);
	COUNT(reported, sends);
	if (ee->ee_code & SO_EE_CODE_ZEROCOPY_COPIED)
		COUNT(errqueue_copied, sends);
}

/* Returns whether the skb is a zero-copy notification, which is then in ee. */
static __always_inline bool is_notification(struct sk_buff *skb, struct sock_extended_err *ee)
{
	return !notification__read(skb, ee) && ee->ee_origin == SO_EE_ORIGIN_ZEROCOPY;
}

/*
 * Returns whether the skb, of a closed socket, never becomes a notification and still holds the
 * ubuf. ee is then filled in. A ubuf begins with a pointer, a notification with zeros.
 */
static __always_inline bool is_discarded_unqueued(struct sk_buff *skb, __u64 sock,
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
static __always_inline void reference_gone(void *uarg, __u64 success)
{
	__u64 sock = (__u64)uarg_sock(uarg);
	struct zsock *s = sockets_watched() ? zsock__find(sock) : NULL;
	struct send_key key = {};
	struct slot *slot;
	__u32 first, end;

	if (!s)
		return;
	first = UARG_READ(uarg, id);
	end = first + UARG_READ(uarg, len);
	key.sock = s->sock;
	key.generation = s->generation;
	key.id = first_watched(s, first);
	slot = id_before(key.id, end) ? slot__first_of(&key, end - key.id) : NULL;
	if (!slot || slot__state(slot) != SEND_IN_FLIGHT)
		return;
	if (!(success & 0xff))
		slot->released.flagged = 1;
	if (end - key.id > slot->released.sends) {
		slot->released.bytes = key.id == first ? UARG_BYTES(uarg) : 0;
		slot->released.sends = end - key.id;
	}
	if (is_dead(sock) && READ((struct ubuf_info *)uarg, refcnt.refs.counter) == 1 &&
	    still_counts())
		ubuf__count(s->sock, key.id, 0);
}

TWICE("fentry/msg_zerocopy_complete", reference_fentry, PAIR_REFERENCE, uarg,
      reference_gone(uarg, success), struct sk_buff *skb, void *uarg, __u64 success)

/*
 * An application took an skb from an error queue. Returns the watched socket that it notifies,
 * or NULL.
 */
static __always_inline struct zsock *dequeued_from(struct sk_buff *skb,
						   struct sock_extended_err *ee)
{
	struct zsock *s = sockets_watched() && skb ? zsock__find((__u64)READ(skb, sk)) : NULL;

	return s && is_notification(skb, ee) ? s : NULL;
}

/*
 * An application may read a notification before the hook of its report looks for it in the queue:
 * this program then counts it. It is separate from dequeued_fexit, which older kernels would
 * otherwise refuse.
 */
SEC("fexit/sock_dequeue_err_skb")
int BPF_PROG(reference_dequeued, struct sock *sk, struct sk_buff *skb)
{
	struct sock_extended_err ee;
	struct zsock *s = dequeued_from(skb, &ee);

	if (s)
		notification_seen(s, &ee, false, true);
	return 0;
}

static __always_inline void dequeued(struct sk_buff *skb)
{
	struct sock_extended_err ee;
	struct zsock *s = dequeued_from(skb, &ee);

	if (s && still_counts())
		count_reported(s, &ee);
}

ON_RESULT(dequeued, "sock_dequeue_err_skb", 1, struct sk_buff *, dequeued(ret))

static __always_inline bool is_within(__u64 location, const volatile struct address_range *ranges,
				      int count)
{
	__u64 within = 0;
	int i;

	for (i = 0; i < count && !within; i++)
		within = location >= ranges[i].from && location < ranges[i].to;
	/* The verifier would otherwise check the code that follows once for each range. */
	return opaque(within);
}

#define IS_COALESCING(location) is_within(location, coalesce_ranges, COALESCE_RANGES)
#define IS_READ(location)	is_within(location, read_ranges, READ_RANGES)

/* An application read a notification, perhaps before the program of its report counted it. */
static __noinline void notification_read(struct sk_buff *skb)
{
	struct sock_extended_err ee;
	struct zsock *s = dequeued_from(skb, &ee);

	if (!s)
		return;
	if (counts_reported && still_counts())
		count_reported(s, &ee);
	if (counted_in_queue)
		notification_seen(s, &ee, false, false);
}

/*
 * The code that built a notification frees it, because it was coalesced or the socket is closed.
 * The notification has its own flag. The program of its report has mostly counted its sends before.
 */
static __noinline void notification_dropped(struct sk_buff *skb)
{
	__u32 how = still_counts() ? 0 : WITNESS_LATE, end;
	struct zsock *s = zsock__find((__u64)READ(skb, sk));
	struct sock_extended_err ee = {};

	if (!s)
		return;
	if (!is_discarded_unqueued(skb, s->sock, &ee)) {
		if (!is_notification(skb, &ee))
			return;
		how |= WITNESS_COALESCED;
	}
	end = ee.ee_data + 1;
	if (!(how & WITNESS_LATE))
		completed_earlier(s, ee.ee_info, end);
	ubuf_completed(s, ee.ee_info, end, how | (ee.ee_code & WITNESS_FLAG), 0);
}

/* Only the skbs of notifications are charged to a socket's optmem. */
static __always_inline bool is_notification_skb(struct sk_buff *skb)
{
	return sockets_watched() && (__u64)READ(skb, destructor) == sock_ofree_address;
}

static __always_inline void freed_at(struct sk_buff *skb, __u64 location)
{
	bool is_read = IS_READ(location), is_coalescing = IS_COALESCING(location);

	if (is_read)
		notification_read(skb);
	if (!counted_in_queue || !is_coalescing)
		return;
	pair__see(PAIR_NOTIFICATION, (__u64)skb);
	notification_dropped(skb);
}

PROGRAM("raw_tp/consume_skb", BPF_PROG, notification_freed,
	if (is_notification_skb(skb)) freed_at(skb, location), struct sk_buff *skb, __u64 location)

/*
 * The second program of the pair. It handles only coalesced notifications, because reads cannot
 * interrupt the program above. It is not attached if the program above counts only reads.
 */
PROGRAM("raw_tp/consume_skb", BPF_PROG, notification_freed_again,
	if (is_notification_skb(skb) && IS_COALESCING(location) &&
	    !pair__saw(PAIR_NOTIFICATION, (__u64)skb)) notification_dropped(skb),
	struct sk_buff *skb, __u64 location)

/*
 * Returns the innermost caller in one of the ranges, or 0. A separate function has its own stack.
 * The location is read from the stack again, because the verifier would otherwise check all that
 * follows once per index.
 */
static __noinline __u64 freeing_caller(void *ctx)
{
	__u64 stack[CALLERS] = {}, location = 0;
	int i;

	bpf_get_stack(ctx, stack, sizeof(stack), 0);
	for (i = 0; i < CALLERS; i++) {
		if (!IS_COALESCING(stack[i]) && !IS_READ(stack[i]))
			continue;
		bpf_probe_read_kernel(&location, sizeof(location), &stack[i]);
		break;
	}
	return location;
}

/*
 * Before "net: add location to trace_consume_skb()" (6.3) only the stack has the location. The
 * stack is read only for skbs that are charged to an error queue.
 */
PROGRAM("raw_tp/consume_skb", BPF_PROG, notification_freed_in_stack,
	if (is_notification_skb(skb)) freed_at(skb, freeing_caller(ctx)), struct sk_buff *skb)

/*
 * If the kernel hides its addresses, nothing shows which function frees an skb. A notification
 * is recognized by its socket and by its lack of data. The application may have read it before the
 * program of its report looked for it in the queue.
 */
static __noinline void notification_freed_by_any(struct sk_buff *skb)
{
	struct sock_extended_err ee;
	struct zsock *s = dequeued_from(skb, &ee);

	if (s)
		notification_seen(s, &ee, false, false);
}

PROGRAM("raw_tp/consume_skb", BPF_PROG, notification_gone,
	if (sockets_watched() && !READ(skb, len)) notification_freed_by_any(skb),
	struct sk_buff *skb)
