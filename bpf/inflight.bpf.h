/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Zero-copy sends in flight. Each has a slot with its time, the memory that it pins, the causes of
 * copies that hooks saw, and a claim: the program that changes the claim counts the send. An event
 * of a send may thus be seen twice, late, or on two CPUs, and the send still counts once.
 */
#pragma once

#include "zsock.bpf.h"

/* log2 of the page size, set by the analyzer. */
const volatile __u32 page_shift = 12;

/*
 * Adds to a histogram while an interrupt may add to it, too: min and max can then be stale, which
 * the analyzer corrects.
 */
GLOBAL int completion_took(__u32 span, __u64 ns)
{
	struct hist *h = bpf_map_lookup_elem(&spans, &span);
	__u32 bucket;

	if (!h)
		return 0;
	if (!h->min || ns < h->min)
		h->min = ns;
	if (ns > h->max)
		h->max = ns;
	bucket = hist_bucket(ns);
	if (bucket < HIST_BUCKETS)
		add(&h->buckets[bucket], 1);
	add(&h->sum, ns);
	return 0;
}

/*
 * Pinned memory. It is charged as msg_zerocopy_realloc does, before it is known how much of a send
 * is accepted.
 */
struct pinned pinned;

PERCPU_ARRAY(pinned_peaks, 1, struct pinned_peak);

/* The memory that io_uring's zero-copy sends pin. */
struct pinned uring_pinned;

PERCPU_ARRAY(uring_pinned_peaks, 1, struct pinned_peak);

/* The most pages that a send can touch, as charged by msg_zerocopy_realloc. */
static __always_inline __u64 pages_of(__u64 bytes)
{
	return (bytes >> page_shift) + 2;
}

/*
 * Before 5.12 atomic operations return no result, so the sums are read. The freed sum is read
 * before the pinned sum: their difference is what was pinned, plus what completed in between. An
 * older freed sum makes the difference larger still, so the cache line of completions is read only
 * if the difference exceeds the peak.
 */
static __always_inline void pinned__charge(volatile struct pinned *p, struct pinned_peak *peak,
					   __u64 bytes)
{
	__u64 now;

	if (!peak)
		return;
	__sync_fetch_and_add(&p->bytes, bytes);
	__sync_fetch_and_add(&p->pages, pages_of(bytes));
	if (p->bytes - peak->freed_bytes <= peak->bytes &&
	    p->pages - peak->freed_pages <= peak->pages)
		return;
	peak->freed_bytes = p->freed_bytes;
	peak->freed_pages = p->freed_pages;
	now = p->bytes - peak->freed_bytes;
	if (now > peak->bytes)
		peak->bytes = now;
	now = p->pages - peak->freed_pages;
	if (now > peak->pages)
		peak->pages = now;
}

static __always_inline void pinned__free(struct pinned *p, __u64 bytes)
{
	__sync_fetch_and_add(&p->freed_bytes, bytes);
	__sync_fetch_and_add(&p->freed_pages, pages_of(bytes));
}

/* The released references of a ubuf: see reference_gone(). */
struct released_ubuf {
	__u32 bytes;
	__u16 sends; /* 0: no reference was seen to be released */
	__u16 flagged;
	__u64 reserved;
};

/*
 * A send in flight, found by its socket and its id. The slot of a counted send may be given to
 * another send (slot__is_free()), but keeps its contents until then, because another program may
 * still read the send's own flag.
 */
struct slot {
	__u64 sock;
	__u64 claim;	 /* claim_of() */
	__u64 start;	 /* ns */
	__u32 bytes;	 /* that the send requested */
	__u32 taken;	 /* the number of programs that want to change the other members */
	union note note; /* of the ubuf that begins with this send */
	union {
		union note counted; /* the causes with which the send was counted */
		struct released_ubuf released;
	};
};

_Static_assert(sizeof(struct slot) == 64, "a slot is not a cache line");

/* The state of a send, in one word with its socket's generation and its id: claim_of(). */
enum send_state {
	SEND_NONE = 0,	    /* the slot is free */
	SEND_IN_FLIGHT = 1, /* not counted */
	/* Counted, with the flag in the lowest bit: */
	SEND_ASSUMED = 2,  /* with the flag of the queue's tail, with which it was coalesced */
	SEND_NOTIFIED = 4, /* with the flag of its notification, which may have been coalesced */
	SEND_FINAL = 6,	   /* with its own flag */
};

#define STATE_BITS	    3
#define STATE(claim)	    ((claim) & ((1 << STATE_BITS) - 1))
#define HAS_FLAG(state)	    ((state)&1)
#define WITHOUT_FLAG(state) ((state) & ~1)

/* A zero-copy send. Key of more_slots. */
struct send_key {
	__u64 sock;
	__u32 generation; /* of the socket's entry */
	__u32 id;
};

/* A claim has the state, above it 29 bits of the generation, and the id in its upper half. */
static __always_inline __u64 claim_of(const struct send_key *key, __u32 state)
{
	return (__u64)key->id << 32 | (__u32)(key->generation << STATE_BITS) | state;
}

#ifndef SLOTS
#define SLOTS 32768 /* a power of two */
#endif

/*
 * Each send has the slot slot__of(). If another send in flight has it, the send is in more_slots.
 */
static struct slot slots[SLOTS];

/* Sends in flight whose slot another send has. */
GROWING_HASH(more_slots, 65536, struct send_key, struct slot);
/* While this is 0, more_slots is empty and need not be searched. */
__u32 more_slots_used;

/* The slots of a socket's sends follow each other, from a place computed from its address. */
static __always_inline struct slot *slot__of(const struct send_key *key)
{
	return &slots[((__u32)(key->sock * 0x9e3779b97f4a7c15ULL >> 40) + key->id) & (SLOTS - 1)];
}

static __always_inline __u32 slot__state(const struct slot *slot)
{
	return STATE(*(volatile __u64 *)&slot->claim);
}

/*
 * Returns the slot of a send that is in flight or was counted a short time ago, else NULL. The
 * function is not inlined: in loops, clang may place its instructions in a way that verifiers
 * before 6.3 refuse.
 */
static __noinline struct slot *slot__find(const struct send_key *key)
{
	struct slot *slot = slot__of(key);
	__u64 claim = *(volatile __u64 *)&slot->claim;

	if (slot->sock == key->sock && !((claim ^ claim_of(key, 0)) >> STATE_BITS) && STATE(claim))
		return slot;
	if (*(volatile __u32 *)&more_slots_used)
		return bpf_map_lookup_elem(&more_slots, key);
	return NULL;
}

#define TAKE_TRIES 16

/*
 * Excludes other programs that want to change the slot. It needs no result of an atomic operation,
 * which Linux 5.10 lacks: of two programs that add at once, neither reads 1, so neither takes the
 * slot. Returns false if another program keeps the slot, as one does that this one interrupted.
 */
static __always_inline bool slot__take(struct slot *slot)
{
	__u32 i;

	for (i = 0; i < TAKE_TRIES; i++) {
		__sync_fetch_and_add(&slot->taken, 1);
		if (*(volatile __u32 *)&slot->taken == 1)
			return true;
		__sync_fetch_and_add(&slot->taken, -1);
	}
	return false;
}

static __always_inline void slot__release(struct slot *slot)
{
	__sync_fetch_and_add(&slot->taken, -1);
}

/* Returns whether a new send may have the slot. */
static __always_inline bool slot__is_free(const struct slot *slot)
{
	__u32 state = slot__state(slot);

	return state != SEND_IN_FLIGHT && WITHOUT_FLAG(state) != SEND_ASSUMED;
}

static __always_inline void slot__fill(struct slot *slot, const struct send_key *key, __u64 start,
				       __u32 bytes)
{
	slot->sock = key->sock;
	slot->start = start;
	slot->bytes = bytes;
	slot->note = slot->counted = (union note){};
	*(volatile __u64 *)&slot->claim = claim_of(key, SEND_IN_FLIGHT);
}

static __noinline bool slot__insert_more(const struct send_key *key, __u64 start, __u32 bytes)
{
	struct slot fresh = {};

	slot__fill(&fresh, key, start, bytes);
	if (bpf_map_update_elem(&more_slots, key, &fresh, BPF_NOEXIST))
		return false;
	__sync_fetch_and_add(&more_slots_used, 1);
	return true;
}

static __noinline void slot__delete_more(const struct send_key *key)
{
	if (!bpf_map_delete_elem(&more_slots, key))
		__sync_fetch_and_add(&more_slots_used, -1);
}

/*
 * Gives a send a slot. A failed send with the same id may not have returned yet: its slot is taken
 * over. Returns false if there is no room, or if another send guessed the same id.
 */
static __noinline bool slot__begin(const struct send_key *key, __u64 start, __u32 bytes)
{
	struct slot *slot = slot__of(key), *found;
	bool mine = false, done;

	if (*(volatile __u32 *)&more_slots_used || !slot__is_free(slot)) {
		found = slot__find(key);
		mine = found && slot__state(found) == SEND_IN_FLIGHT;
		if (mine)
			slot = found;
	}
	if (mine && ids_guessed)
		return false;
	if ((!mine && !slot__is_free(slot)) || !slot__take(slot))
		return slot__insert_more(key, start, bytes);
	done = mine || slot__is_free(slot);
	if (done)
		slot__fill(slot, key, start, bytes);
	slot__release(slot);
	return done || slot__insert_more(key, start, bytes);
}

/*
 * Frees the slot of a failed send, unless another send has the id by now. start: when the send
 * began; 0: frees the slot of any send with the id. Returns the bytes that the slot's send
 * requested, 0 if the slot is not freed.
 */
static __noinline __u32 slot__abandon(const struct send_key *key, __u64 start)
{
	struct slot *slot = slot__find(key);
	__u32 bytes = 0;

	if (!slot || !slot__take(slot))
		return 0;
	if ((!start || slot->start == start) && slot__state(slot) == SEND_IN_FLIGHT) {
		bytes = slot->bytes;
		slot->claim = SEND_NONE;
	}
	slot__release(slot);
	if (bytes && slot != slot__of(key))
		slot__delete_more(key);
	return bytes;
}

#define FIRST_SLOTS 8

/*
 * Moves the key to the first of these sends that has a slot, and returns the slot: a ubuf may begin
 * with sends from before the window or of another process. Returns NULL if none of the first
 * FIRST_SLOTS sends has a slot.
 */
static __always_inline struct slot *slot__first_of(struct send_key *key, __u32 sends)
{
	struct slot *slot = NULL;
	__u32 i;

	for (i = 0; i < FIRST_SLOTS && i < sends; i++) {
		slot = slot__find(key);
		if (slot)
			break;
		key->id++;
	}
	return slot;
}

/*
 * Adds the bits to the note of the ubuf that begins with this send, unless the note has them. If
 * the note has no room, or no slot has it, counts the bits as lost.
 */
static __noinline void note__add_bits(const struct send_key *key, __u16 bits)
{
	struct slot *slot = slot__find(key);
	bool added = false;
	__u32 i;

	if (slot && slot__take(slot)) {
		for (i = 0; i < CAUSE_BITS && !added; i++) {
			if (!slot->note.bits[i])
				slot->note.bits[i] = bits;
			added = slot->note.bits[i] == bits;
		}
		slot__release(slot);
	}
	if (!added)
		COUNT(lost_cause_bits, 1);
}

/* Replaces the note's entries that equal value under mask. Returns false if there are none. */
static __noinline bool note__replace_bits(const struct send_key *key, __u16 mask, __u16 value,
					  __u16 with)
{
	struct slot *slot = slot__find(key);
	bool found = false;
	__u32 i;

	if (!slot || !slot__take(slot))
		return false;
	for (i = 0; i < CAUSE_BITS; i++) {
		if ((slot->note.bits[i] & mask) != value)
			continue;
		slot->note.bits[i] = with;
		found = true;
	}
	slot__release(slot);
	return found;
}

/* How entries of sockets are created and removed. */

/*
 * Returns how many of the window's sends have completed. The number may be too high if other
 * processes send on the socket, too, and is negative for a moment while a send fails.
 */
static __always_inline __s32 completed_sends(const struct zsock *s)
{
	return s->next - s->first - s->waiting;
}

/* With fewer than UNREAD_SENDS, the application may still have been about to read the queue. */
static __always_inline bool never_read(const struct zsock *s)
{
	return !s->queue_read && completed_sends(s) >= UNREAD_SENDS;
}

/* Removes the entry of a gone socket without sends in flight. Another CPU may do it at once. */
static __noinline void zsock__remove(__u64 sock, const struct zsock *s, bool closed)
{
	bool counts = completed_sends(s) > 0 && still_counts(), unread = never_read(s);

	if (bpf_map_delete_elem(&sockets, &sock))
		return;
	bpf_map_delete_elem(&shared, &sock);
	if (counts) {
		COUNT(queues, 1);
		if (unread)
			COUNT(queues_unread, 1);
	}
	__sync_fetch_and_add(&sockets_kept, -1);
	if (closed)
		__sync_fetch_and_add(&sockets_closed, -1);
}

/* Frees the slot of a send whose completion no program saw. Returns 0 if no slot has it. */
GLOBAL int send__lose(__u64 sock, __u32 id)
{
	struct zsock *s = zsock__find(sock);
	struct send_key key = {.sock = sock, .id = id};
	struct slot *slot;

	if (!s)
		return 0;
	key.generation = s->generation;
	slot = slot__find(&key);
	if (!slot || slot__state(slot) != SEND_IN_FLIGHT)
		return 0;
	pinned__free(&pinned, slot->bytes);
	slot->claim = SEND_NONE;
	slot__delete_more(&key);
	return 1;
}

#define ENDED_AT_ONCE 64
#define ENDED_MOST    4096

/* Frees the slots of ENDED_AT_ONCE sends. Returns how many it freed. */
GLOBAL __u32 sends__lose(__u64 sock, __u32 first)
{
	__u32 lost = 0, i;

	for (i = 0; i < ENDED_AT_ONCE; i++)
		lost += send__lose(sock, first + i);
	return lost;
}

/*
 * Removes the entry of a socket that does not exist any more. Each ubuf holds a reference to its
 * socket, so sends that seem to be in flight have completed unseen, because the kernel skips a
 * program that interrupts itself. They count as lost.
 */
GLOBAL int zsock__end(__u64 sock)
{
	struct zsock *s = zsock__find(sock);
	__u32 lost = 0, i, next;

	if (!s)
		return 0;
	next = s->next;
	for (i = ENDED_AT_ONCE; (__s32)lost < s->waiting && i <= ENDED_MOST; i += ENDED_AT_ONCE)
		lost += sends__lose(sock, next - i);
	COUNT(lost_completions, lost);
	zsock__remove(sock, s, s->closed);
	return 0;
}

#define LONG_BEFORE (1U << 20)

/* Starts to count the completions of a socket, from this id on. */
GLOBAL int zsock__watch(__u64 sock, __u32 id)
{
	struct zsock fresh = {.sock = sock, .first = id, .next = id, .notified_to = id};
	struct sock_extended_err ee;

	/*
	 * Sends before earlier_to have completed already. Without a notification, the id is not
	 * known, and one long before is assumed.
	 */
	fresh.earlier_to = id - LONG_BEFORE;
	fresh.tail = TAIL(fresh.earlier_to, fresh.earlier_to);
	if (last_notification((struct sock *)sock, &ee)) {
		fresh.earlier_to = ee.ee_data + 1;
		fresh.tail = TAIL(ee.ee_info, ee.ee_data + 1);
	}
	/* Two CPUs may take the same number at once, but never for sockets at the same address. */
	fresh.generation = ++generations;
	fresh.ports = both_ports((struct sock *)sock);
	/* If there is no room, the socket's sends are untracked. */
	if (!bpf_map_update_elem(&sockets, &sock, &fresh, BPF_NOEXIST))
		__sync_fetch_and_add(&sockets_kept, 1);
	return 0;
}

/*
 * Returns whether the entry is that of an earlier socket with the same address. A new socket gives
 * its first send the id 0. So does a socket whose only send failed, but its ports are the same.
 */
static __always_inline bool zsock__is_earlier(const struct zsock *s, struct sock *sk, __u32 id)
{
	if (s->closed)
		return !id || socket_state_of(sk) != STATE_UNCONNECTED;
	return !id && !ids_guessed && (s->next > 1 || s->ports != both_ports(sk));
}

/*
 * A socket connects. Its entry may be that of an earlier socket with the same memory, whose end no
 * program saw. The entry has ids then, but the socket has given none.
 */
static __always_inline void zsock__replace(struct sock *sk)
{
	struct zsock *s = *(volatile __u32 *)&sockets_kept ? zsock__find((__u64)sk) : NULL;

	if (s && (s->closed || (!next_id(sk) && s->next)))
		zsock__end(number_of(sk));
}

/* Returns the entry of a socket whose zero-copy send gets this id, created if needed; or NULL. */
static __always_inline struct zsock *zsock__get(struct sock *sk, __u32 id)
{
	struct zsock *s = zsock__find((__u64)sk);

	if (s && !zsock__is_earlier(s, sk, id))
		return s;
	if (s)
		zsock__end(number_of(sk));
	zsock__watch(number_of(sk), id);
	return zsock__find((__u64)sk);
}
