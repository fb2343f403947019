/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Completions that were counted by the tail of the error queue, with its flag and the marks of one
 * run, until a coalesced notification says otherwise (docs/zerocopy.md). The last few such counts
 * of a socket are kept, so that they can be mended.
 */
#pragma once

#include "flight.bpf.h"
#include "groups.bpf.h"
#include "marks.bpf.h"

/* Which ids of a word, from its lowest bit, are from the first to the last. */
static __always_inline __u32 ids_between(__u64 word, __u32 block, __u32 first, __u32 last)
{
	__u32 ids = word >> 32 == block ? (__u32)word : 0;

	if (block == WINDOW_BLOCK(first))
		ids &= ~0U << (first & 31);
	if (block == WINDOW_BLOCK(last))
		ids &= ~0U >> (31 - (last & 31));
	return ids;
}

/*
 * How many of these ids are of the window's own sends, in several words: from the last one
 * on, as the older may be gone. A function of its own: verified once, not once each use.
 */
__noinline __u32 window_sends(__u64 sock, __u32 first, __u32 last)
{
	struct zerocopy_socket *s = bpf_map_lookup_elem(&sockets, &sock);
	__u32 blocks = (WINDOW_BLOCK(last) - WINDOW_BLOCK(first)) & (~0U >> 5);
	__u32 sends = 0, block, i;

	if (!s)
		return 0;
	for (i = 0; i < WINDOW_WORDS && i <= blocks; i++) {
		block = (WINDOW_BLOCK(last) - i) & (~0U >> 5);
		sends += count_bits(ids_between(*window__word(s, block), block, first, last));
	}
	return sends;
}

/* The same of those from an id to before another: of a few, as most are, without a look-up. */
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
					    const struct run *marks)
{
	c->flagged = flagged;
	c->charged = marks != NULL;
	if (marks)
		c->marks = *marks;
}

/*
 * Ids from the first to before the last were counted with this flag, and for these marks or
 * (NULL) not yet for any. Those before own are of records that were not looked at. Another
 * CPU may look for it at once: it is whole before it can be found.
 */
static __always_inline void counted__add(struct zerocopy_socket *s, __u32 from, __u32 own, __u32 to,
					 __u32 in_window, bool flagged, const struct run *marks)
{
	struct counted *c = counted__at(s, __sync_fetch_and_add(&s->counted_turn, 1));

	__sync_lock_test_and_set(&c->sends, 0);
	c->from = from;
	c->own = own;
	c->in_window = in_window;
	counted__charge(c, flagged, marks);
	__sync_lock_test_and_set(&c->sends, to - from);
}

/*
 * The turn of the latest that has this id; false if it is not kept any more. The verifier
 * goes through what follows once: which turn of the loop it was is not to be told from it.
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

/* Of the sends from the first to before the last, those of counts of their own after a turn. */
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
 * A notification tells of its own sends, from the run's first to before the last, which
 * were counted with others. Sends that had joined it may have told of themselves. If it is
 * a record of its own, there is something to mend only if it was counted by a later one. If
 * it was counted too long ago, or by a CPU that is about to keep that, it comes to nothing.
 */
static __always_inline void counted__mend(struct zerocopy_socket *s, struct totals *t,
					  const struct run_key *run, __u32 to, bool copied,
					  bool is_record)
{
	__u32 turn, sends, all, sends_since, in_window_since;
	bool flagged, assumed, charged, is_marked;
	struct run marks, before;
	struct counted *c;

	/* Between finding a count and keeping its mending other CPUs are not to have time. */
	is_marked = run__read(run, &marks);
	if (!counted__find(s, run->id, &turn)) {
		if (!is_record && id_before(run->id, s->progress))
			__sync_fetch_and_add(&t->flag_assumed,
					     window__sends(s, run->sock, run->id, to));
		return;
	}
	c = counted__at(s, turn);
	flagged = c->flagged;
	assumed = id_before(run->id, c->own);
	if (is_record && !assumed)
		return;
	if (assumed && id_before(c->own, to))
		to = c->own;
	counted__since(s, turn, run->id, to, &sends_since, &in_window_since);
	all = window__sends(s, run->sock, run->id, to);
	sends = all - in_window_since;
	charged = c->charged;
	before = c->marks;
	/* Its marks were taken when it was counted. */
	if (charged && !is_marked && c->own == run->id)
		marks = before;
	if (charged || c->from != run->id || c->sends != to - run->id)
		counted__add(s, run->id, run->id, to, all, copied, &marks);
	else
		counted__charge(c, copied, &marks);
	if (assumed) {
		__sync_fetch_and_add(&s->assumed, -(to - run->id - sends_since));
		__sync_fetch_and_add(&t->flag_assumed, -(__u64)sends);
	}
	if (charged)
		marks__count(run->sock, &before, -(__s64)sends, 0, flagged);
	else
		__sync_fetch_and_add(&t->merged_seen, sends);
	if (is_marked)
		bpf_map_delete_elem(&runs, run);
	marks__count(run->sock, &marks, sends, 0, copied);
	if (copied && !flagged) {
		__sync_fetch_and_add(&t->copied_later, sends);
		groups__complete(&s->who, 0, sends);
	}
	if (!copied && flagged) {
		__sync_fetch_and_add(&t->copied_not, sends);
		groups__complete(&s->who, 0, -(__u64)sends);
	}
}
