/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A socket on which a target requested zero-copy. Each event looks it up once and passes the
 * pointer on. docs/zerocopy.md lists who writes what, and when.
 */
#pragma once

#include "groups.bpf.h"
#include "waits.bpf.h"

/* True if no program sees the id that a send gets. The socket's next id is then assumed. */
const volatile bool ids_guessed = false;

/*
 * The window's ids of a socket on which other processes send, too. A word has 32 ids as bits, and
 * the number of their block in its upper half.
 */
#define SHARED_WORDS 256

struct shared_ids {
	__u64 words[SHARED_WORDS];
};

#define CAUSE_BITS 8

/* The causes of a ubuf's copies. Each element is CAUSE_BIT_* and the index of a cause counter. */
union note {
	__u16 bits[CAUSE_BITS];
	__u64 words[2];
};

struct zsock {
	__u64 sock;		/* address of the struct sock */
	__u64 tail;		/* the error queue's tail as it was last counted: TAIL() */
	__u32 first;		/* first send id of the window */
	__u32 next;		/* one past the window's last id */
	__u32 earlier_to;	/* completions of earlier sends are counted up to this id */
	__s32 waiting;		/* sends of the window that have not completed */
	__u32 closed;		/* the entry is removed when no send is waiting */
	__u32 generation;	/* distinguishes the socket from another one at the same address */
	__u32 unreturned;	/* sends with a guessed id that have not returned */
	__u8 order_unknown;	/* several ids were guessed at once: their sends are not timed */
	__u8 is_shared;		/* sends of other processes took ids, too */
	__u8 queue_read;	/* the application has read a notification */
	__u32 shared_from;	/* from this id on, struct shared_ids has the window's ids */
	__u32 notified_to;	/* one past the ids of the queue's tail when it was last reported */
	__u32 ports;		/* of the socket when its first id was given: both_ports() */
	struct group_key owner; /* group that completions are charged to: see groups.bpf.h */
	__u64 device;		/* of its route when owner was set */
	struct last_send last;
	union note note; /* of the ubuf with the last counted send of the queue's tail */
};

/* The first id of a notification, and one past its last. */
#define TAIL(first, end) ((__u64)(end) << 32 | (__u32)(first))

/* Key: the address of struct sock. */
GROWING_HASH(sockets, 65536, __u64, struct zsock);

/* Sockets whose ids are also taken by other processes' sends. */
GROWING_HASH(shared, SHARED_MAX, __u64, struct shared_ids);

/* The value of a new entry of `shared`, which is too large for a program's stack. */
static const struct shared_ids no_ids;

/* The number of sockets in the map, of closed ones among them, and of all entries so far. */
__u32 sockets_kept, sockets_closed, generations;

/* The error queues of the sockets in the map, as of the last run of sockets_checked(). */
struct error_queues open_queues;

/* Returns false if no target's zero-copy send can be in flight. */
static __always_inline bool sockets_watched(void)
{
	return gate && *(volatile __u32 *)&sockets_kept;
}

/* Returns false after the window, when only corrections are allowed. */
static __always_inline bool still_counts(void)
{
	return gate == GATE_OPEN || gate == GATE_CLOSING;
}

static __always_inline struct zsock *zsock__find(__u64 sock)
{
	return bpf_map_lookup_elem(&sockets, &sock);
}

/* Send ids wrap around. */
static __always_inline bool id_before(__u32 id, __u32 that)
{
	return (__s32)(id - that) < 0;
}

/* Returns the first id of a ubuf that counts: the ubuf may begin before its socket was watched. */
static __always_inline __u32 first_watched(const struct zsock *s, __u32 id)
{
	return id_before(id, s->first) ? s->first : id;
}

#define SO_EE_ORIGIN_ZEROCOPY 5

static __always_inline int notification__read(struct sk_buff *skb, struct sock_extended_err *ee)
{
	struct sock_exterr_skb *err = (void *)skb + bpf_core_field_offset(struct sk_buff, cb);

	if (!reads_typed)
		return bpf_core_read(ee, sizeof(*ee), &err->ee);
	ee->ee_origin = READ(err, ee.ee_origin);
	ee->ee_code = READ(err, ee.ee_code);
	ee->ee_info = READ(err, ee.ee_info);
	ee->ee_data = READ(err, ee.ee_data);
	return 0;
}

/* Reads the last notification in a socket's error queue. Returns false if it is not zero-copy. */
static __always_inline bool last_notification(struct sock *sk, struct sock_extended_err *ee)
{
	void *queue = (void *)sk + bpf_core_field_offset(struct sock, sk_error_queue);
	struct sk_buff *tail = READ(sk, sk_error_queue.prev);

	return (void *)tail != queue && !notification__read(tail, ee) &&
	       ee->ee_origin == SO_EE_ORIGIN_ZEROCOPY;
}

/*
 * While no other process sends on the socket, the window's ids are first..next-1. From shared_from
 * on they are those whose bits are set. A newer block replaces an older one in its word.
 */

#define ID_BLOCK(id) ((id) >> 5)
#define ID_BIT(id)   (1ULL << ((id)&31))

static __always_inline __u64 *shared__word(struct shared_ids *ids, __u32 block)
{
	return &ids->words[block & (SHARED_WORDS - 1)];
}

/* The socket is locked, so plain stores do. If it is not, ids are guesses that may be wrong. */
static __always_inline void shared__add(struct shared_ids *ids, __u32 id)
{
	__u64 *word = shared__word(ids, ID_BLOCK(id)), old = *(volatile __u64 *)word;

	if (old >> 32 != ID_BLOCK(id))
		old = (__u64)ID_BLOCK(id) << 32;
	*(volatile __u64 *)word = old | ID_BIT(id);
}

static __always_inline __u32 ids_of_word(__u64 word, __u32 block, __u32 first, __u32 last)
{
	__u32 ids = word >> 32 == block ? (__u32)word : 0;

	if (block == ID_BLOCK(first))
		ids &= ~0U << (first & 31);
	if (block == ID_BLOCK(last))
		ids &= ~0U >> (31 - (last & 31));
	return ids;
}

#define WORDS_AT_ONCE 8

/*
 * Returns how many of the ids first..last are the window's, in up to WORDS_AT_ONCE words: that of
 * block, and those before it.
 */
GLOBAL __u32 shared_sends_before(__u64 sock, __u32 first, __u32 last, __u32 block)
{
	struct shared_ids *ids = bpf_map_lookup_elem(&shared, &sock);
	__u32 blocks = (block - ID_BLOCK(first)) & (~0U >> 5);
	__u32 sends = 0, i;

	for (i = 0; ids && i < WORDS_AT_ONCE && i <= blocks; i++) {
		sends += __builtin_popcount(
			ids_of_word(*shared__word(ids, block), block, first, last));
		block = (block - 1) & (~0U >> 5);
	}
	return sends;
}

/* The same for all words. It begins with the last one, because older ones may be replaced. */
GLOBAL __u32 shared_sends(__u64 sock, __u32 first, __u32 last)
{
	__u32 blocks = (ID_BLOCK(last) - ID_BLOCK(first)) & (~0U >> 5);
	__u32 sends = 0, i;

	for (i = 0; i < SHARED_WORDS && i <= blocks; i += WORDS_AT_ONCE)
		sends += shared_sends_before(sock, first, last, (ID_BLOCK(last) - i) & (~0U >> 5));
	return sends;
}

/* Returns how many of the sends from..to-1 are the window's. */
static __noinline __u32 window__sends(const struct zsock *s, __u32 from, __u32 to)
{
	__u32 end = s->is_shared ? s->shared_from : s->next, sends;

	if (id_before(from, s->first))
		from = s->first;
	if (id_before(s->next, to))
		to = s->next;
	if (!id_before(from, to))
		return 0;
	sends = id_before(from, end) ? (id_before(end, to) ? end : to) - from : 0;
	if (!id_before(end, to))
		return sends;
	return sends + shared_sends(s->sock, id_before(from, end) ? end : from, to - 1);
}

/* Returns the window's ids of a socket on which another process sends, too; NULL: no room. */
static __noinline struct shared_ids *shared__get(struct zsock *s)
{
	struct shared_ids *ids = bpf_map_lookup_elem(&shared, &s->sock);

	if (ids)
		return ids;
	bpf_map_update_elem(&shared, &s->sock, &no_ids, BPF_NOEXIST);
	return bpf_map_lookup_elem(&shared, &s->sock);
}

/* Returns whether other processes have taken ids, so that this id is beyond the window's next. */
static __always_inline bool others_came(const struct zsock *s, __u32 id)
{
	return id_before(*(volatile __u32 *)&s->next, id);
}

/*
 * Adds an id to the window's ids. Returns false if there is no room for it. While a failed send,
 * which gave its id back, has not returned yet, next is one too high. next and waiting change only
 * by additions, because no lock excludes other CPUs if ids are guessed.
 */
static __noinline bool id__take(struct zsock *s, __u32 id)
{
	__u32 next = *(volatile __u32 *)&s->next, ahead = 0;
	struct shared_ids *ids;

	/* A guess combines two values that may change in between, so they are compared twice. */
	if (others_came(s, id) &&
	    (!ids_guessed || others_came(s, next_id((struct sock *)s->sock)))) {
		ahead = id - next;
		if (!s->is_shared) {
			s->shared_from = next;
			s->is_shared = 1;
		}
	}
	if (s->is_shared) {
		ids = shared__get(s);
		if (!ids)
			return false;
		shared__add(ids, id);
	}
	__sync_fetch_and_add(&s->next, ahead + 1);
	__sync_fetch_and_add(&s->waiting, 1);
	return true;
}

/* Removes the last of the window's ids. */
static __noinline void id__give_back(struct zsock *s)
{
	__u32 id = *(volatile __u32 *)&s->next - 1;
	struct shared_ids *ids;
	__u64 *word;

	if (s->is_shared && !id_before(id, s->shared_from)) {
		ids = bpf_map_lookup_elem(&shared, &s->sock);
		word = ids ? shared__word(ids, ID_BLOCK(id)) : NULL;
		if (word && *word >> 32 == ID_BLOCK(id))
			*word &= ~ID_BIT(id);
	}
	__sync_fetch_and_add(&s->next, -1);
	__sync_fetch_and_add(&s->waiting, -1);
}
