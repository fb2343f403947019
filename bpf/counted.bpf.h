/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The last few counts of a socket that used the flag of the error queue's tail, kept until a
 * coalesced notification corrects them: docs/zerocopy.md.
 */
#pragma once

#include "cause_bits.bpf.h"
#include "groups.bpf.h"
#include "inflight.bpf.h"

static __always_inline __u32 ids_between(__u64 word, __u32 block, __u32 first, __u32 last)
{
	__u32 ids = word >> 32 == block ? (__u32)word : 0;

	if (block == WINDOW_BLOCK(first))
		ids &= ~0U << (first & 31);
	if (block == WINDOW_BLOCK(last))
		ids &= ~0U >> (31 - (last & 31));
	return ids;
}

#define WORDS_AT_ONCE 16

/*
 * How many ids are the window's own, in so many words before block. A function of its own, and few
 * words: the verifier goes through it once, and once through each of its turns.
 */
__noinline __u32 window_sends_before(__u64 sock, __u32 first, __u32 last, __u32 block)
{
	struct zerocopy_socket *s = bpf_map_lookup_elem(&sockets, &sock);
	__u32 blocks = (block - WINDOW_BLOCK(first)) & (~0U >> 5);
	__u32 sends = 0, i;

	if (!s)
		return 0;
	for (i = 0; i < WORDS_AT_ONCE && i <= blocks; i++) {
		sends += count_bits(ids_between(*window__word(s, block), block, first, last));
		block = (block - 1) & (~0U >> 5);
	}
	return sends;
}

/* The same over all words: from the last, as the older may be gone. */
__noinline __u32 window_sends(__u64 sock, __u32 first, __u32 last)
{
	__u32 blocks = (WINDOW_BLOCK(last) - WINDOW_BLOCK(first)) & (~0U >> 5);
	__u32 sends = 0, i;

	for (i = 0; i < WINDOW_WORDS && i <= blocks; i += WORDS_AT_ONCE)
		sends += window_sends_before(sock, first, last,
					     (WINDOW_BLOCK(last) - i) & (~0U >> 5));
	return sends;
}

/* The same, without a look-up for a few ids, as most are. to is exclusive. */
static __always_inline __u32 window__sends(struct zerocopy_socket *s, __u64 sock, __u32 from,
					   __u32 to)
{
	__u32 block = WINDOW_BLOCK(from), last = to - 1, end = WINDOW_BLOCK(last), sends;

	if (!id_before(from, to))
		return 0;
	if (to - from > 32)
		return window_sends(sock, from, last);
	sends = count_bits(ids_between(*window__word(s, block), block, from, last));
	if (end != block)
		sends += count_bits(ids_between(*window__word(s, end), end, from, last));
	return sends;
}

static __always_inline struct counted *counted__at(struct zerocopy_socket *s, __u32 turn)
{
	return &s->counted[turn & (COUNTED_KEPT - 1)];
}

static __always_inline void counted__charge(struct counted *c, bool flagged,
					    const struct cause_bits *bits)
{
	c->flagged = flagged;
	c->charged = bits != NULL;
	if (bits)
		c->bits = *bits;
}

/*
 * Sends from..to-1 were counted with this flag, and for these causes; NULL: for none yet. Those
 * before own belong to notifications that were not read. Another CPU may look for it at once: it is
 * whole before it can be found.
 */
static __always_inline void counted__add(struct zerocopy_socket *s, __u32 from, __u32 own, __u32 to,
					 __u32 in_window, bool flagged,
					 const struct cause_bits *bits)
{
	struct counted *c = counted__at(s, __sync_fetch_and_add(&s->counted_turn, 1));

	__sync_lock_test_and_set(&c->sends, 0);
	c->from = from;
	c->own = own;
	c->in_window = in_window;
	counted__charge(c, flagged, bits);
	__sync_lock_test_and_set(&c->sends, to - from);
}

/*
 * The turn of the latest count with this id. The verifier goes through what follows once: the turn
 * of the loop cannot be told from the result.
 */
static __always_inline bool counted__find(struct zerocopy_socket *s, __u32 id, __u32 *turn)
{
	__u32 next = s->counted_turn, i;
	struct counted *c;

	for (i = 1; i <= COUNTED_KEPT; i++) {
		*turn = next - i;
		c = counted__at(s, *turn);
		if (id - c->from < c->sends)
			return true;
	}
	return false;
}

/* How many of the sends from..to-1 were counted after a turn. */
static __always_inline void counted__since(struct zerocopy_socket *s, __u32 turn, __u32 from,
					   __u32 to, __u32 *sends, __u32 *in_window)
{
	__u32 next = s->counted_turn, i;
	struct counted *c;

	*sends = *in_window = 0;
	for (i = 1; i <= COUNTED_KEPT; i++) {
		if (!id_before(turn, next - i))
			break;
		c = counted__at(s, next - i);
		if (id_before(c->from, from) || id_before(to, c->from + c->sends))
			continue;
		*sends += c->sends;
		*in_window += c->in_window;
	}
}

/*
 * A notification has the flag of its own sends, ubuf->id..to-1, which were counted with others;
 * sends coalesced with it may have corrected theirs. One that is in the queue itself needs
 * correction only if a later one counted it. A count that is too old, or about to be kept by
 * another CPU, is not corrected.
 */
static __always_inline void counted__correct(struct zerocopy_socket *s, struct totals *t,
					     const struct ubuf_key *ubuf, __u32 to, bool copied,
					     bool is_notification)
{
	__u32 turn, sends, all, sends_since, in_window_since;
	bool flagged, assumed, charged, has_bits;
	struct cause_bits bits, before;
	struct counted *c;

	/* Other CPUs must have no time between finding a count and keeping its correction. */
	has_bits = ubuf__read_bits(ubuf, &bits);
	if (!counted__find(s, ubuf->id, &turn)) {
		if (is_notification || !id_before(ubuf->id, s->progress))
			return;
		__sync_fetch_and_add(&t->flag_assumed, window__sends(s, ubuf->sock, ubuf->id, to));
		bpf_map_delete_elem(&ubufs, ubuf);
		return;
	}
	c = counted__at(s, turn);
	flagged = c->flagged;
	assumed = id_before(ubuf->id, c->own);
	if (is_notification && !assumed)
		return;
	if (assumed && id_before(c->own, to))
		to = c->own;
	counted__since(s, turn, ubuf->id, to, &sends_since, &in_window_since);
	all = window__sends(s, ubuf->sock, ubuf->id, to);
	sends = all - in_window_since;
	charged = c->charged;
	before = c->bits;
	/* Its bits were removed when it was counted. */
	if (charged && !has_bits && c->own == ubuf->id)
		bits = before;
	if (charged || c->from != ubuf->id || c->sends != to - ubuf->id)
		counted__add(s, ubuf->id, ubuf->id, to, all, copied, &bits);
	else
		counted__charge(c, copied, &bits);
	if (assumed) {
		__sync_fetch_and_add(&s->assumed, -(to - ubuf->id - sends_since));
		__sync_fetch_and_add(&t->flag_assumed, -(__u64)sends);
	}
	if (charged)
		cause_bits__count_sends(ubuf->sock, &before, -(__s64)sends, 0, flagged);
	else
		__sync_fetch_and_add(&t->coalesced_seen, sends);
	if (has_bits)
		bpf_map_delete_elem(&ubufs, ubuf);
	cause_bits__count_sends(ubuf->sock, &bits, sends, 0, copied);
	if (copied && !flagged) {
		__sync_fetch_and_add(&t->copied_later, sends);
		groups__count_completions(&s->who, 0, sends);
	}
	if (!copied && flagged) {
		__sync_fetch_and_add(&t->copied_not, sends);
		groups__count_completions(&s->who, 0, -(__u64)sends);
	}
}
