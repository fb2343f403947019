/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The last batches of a socket's completions that were counted with the flag of the queue's tail:
 * docs/zerocopy.md.
 */
#pragma once

#include "causes.bpf.h"

static __always_inline struct flag_batch *batch__at(struct zsock *s, __u32 turn)
{
	return &s->batches[turn & (BATCHES - 1)];
}

/* bits: the causes that the batch is counted for; NULL: they are not counted yet. */
static __always_inline void batch__set(struct flag_batch *b, bool flagged, const __u64 *bits)
{
	b->flagged = flagged;
	b->causes_counted = bits != NULL;
	b->bits[0] = bits ? bits[0] : 0;
	b->bits[1] = bits ? bits[1] : 0;
}

/*
 * The sends from..to-1 were counted with this flag. Those before tail_first belong to notifications
 * that were not read. Another CPU may look for the batch at once, so it is complete before it can
 * be found.
 */
static __always_inline void batch__add(struct zsock *s, __u32 from, __u32 tail_first, __u32 to,
				       __u32 in_window, bool flagged, const __u64 *bits)
{
	struct flag_batch *b = batch__at(s, __sync_fetch_and_add(&s->batch_turn, 1));

	__sync_lock_test_and_set(&b->sends, 0);
	b->from = from;
	b->tail_first = tail_first;
	b->in_window = in_window;
	batch__set(b, flagged, bits);
	__sync_lock_test_and_set(&b->sends, to - from);
}

/*
 * Finds the latest batch with this id. The verifier checks the code that follows once, because the
 * result does not show in which turn of the loop it was found.
 */
static __always_inline bool batch__find(struct zsock *s, __u32 id, __u32 *turn)
{
	__u32 next = s->batch_turn, i;
	struct flag_batch *b;

	for (i = 1; i <= BATCHES; i++) {
		*turn = next - i;
		b = batch__at(s, *turn);
		if (id - b->from < b->sends)
			return true;
	}
	return false;
}

/*
 * Counts the sends from..to-1 in batches since a turn. Sign arithmetic replaces branches, so the
 * verifier checks one path only. A global function would look the socket up again, and take time in
 * which other CPUs can interfere.
 */
static __always_inline void batch__since(struct zsock *s, __u32 turn, __u32 from, __u32 to,
					 __u32 *sends, __u32 *in_window)
{
	__u32 next = s->batch_turn, i, after, outside, counts;
	struct flag_batch *b;

	*sends = *in_window = 0;
	for (i = 1; i <= BATCHES; i++) {
		b = batch__at(s, next - i);
		after = turn - (next - i);
		outside = (b->from - from) | (to - b->from - b->sends);
		counts = (__s32)(after & ~outside) >> 31;
		*sends += b->sends & counts;
		*in_window += b->in_window & counts;
	}
}

/*
 * Is a CPU about to keep a batch? If not, the batches of all ids that were claimed before are kept,
 * or have been replaced by later ones.
 */
static __always_inline bool batch__may_come(struct zsock *s)
{
	return __sync_fetch_and_add(&s->claiming, 0);
}

/*
 * A CPU claims ids before it keeps their batch. If another CPU has a flag of these ids in between,
 * it leaves a correction and looks for the batch again; the first CPU looks for corrections after
 * it kept the batch. So one of them finds what the other left. Returns false if there is no room.
 */
static __always_inline bool correction__leave(struct zsock *s, __u32 id, __u32 to, bool copied,
					      bool is_notification)
{
	/* Never 0, because it has at least one send. */
	__u64 correction = (__u64)id << 32 | (to - id) << 2 | is_notification << 1 | copied;
	__u32 i;

	/*
	 * Incremented first: a CPU that still reads 0 has kept its batch, and the second look finds
	 * that.
	 */
	__sync_fetch_and_add(&s->corrections_left, 1);
	for (i = 0; i < CORRECTIONS; i++)
		if (!__sync_val_compare_and_swap(&s->corrections[i], 0, correction))
			return true;
	__sync_fetch_and_add(&s->corrections_left, -1);
	return false;
}

/*
 * Corrects the counts of a notification's own sends, id..to-1, which were counted with another
 * flag. Sends coalesced with it may have corrected theirs before. A notification that is in the
 * queue itself needs a correction only if a later one's flag was used. Batches that are not kept
 * any more are not corrected.
 */
__noinline int flags__correct(__u64 sock, __u32 id, __u32 to, __u32 how)
{
	bool copied = how & 1, is_notification = how & 2;
	struct zsock *s = zsock__find(sock);
	__u32 turn, sends, all, sends_since, in_window_since;
	bool claimed, keeping, assumed;
	struct flag_batch *b, was;
	struct note note;
	__u64 *bits = note.words;

	if (!s)
		return 0;
	/*
	 * Read the note before: between finding a batch and keeping its correction, other CPUs must
	 * have no time to interfere.
	 */
	note__read(s, id, &note);
	/* In this order, and before the search: see batch__may_come(). */
	claimed = id_before(id, *(volatile __u32 *)&s->counted_to);
	keeping = batch__may_come(s);
	if (!batch__find(s, id, &turn)) {
		if (!claimed ||
		    (keeping && correction__leave(s, id, to, copied, is_notification)) ||
		    is_notification)
			return 0;
		COUNT(flag_assumed, window__sends(s, id, to));
		if (note__any(&note))
			note__remove(s, id);
		return 0;
	}
	b = batch__at(s, turn);
	assumed = id_before(id, b->tail_first);
	if (is_notification && !assumed)
		return 0;
	if (assumed && id_before(b->tail_first, to))
		to = b->tail_first;
	batch__since(s, turn, id, to, &sends_since, &in_window_since);
	all = window__sends(s, id, to);
	sends = all - in_window_since;
	was = *b;
	/* The note was removed when the batch was counted. */
	if (was.causes_counted && !note__any(&note) && b->tail_first == id)
		bits = was.bits;
	if (was.causes_counted || b->from != id || b->sends != to - id)
		batch__add(s, id, id, to, all, copied, bits);
	else
		batch__set(b, copied, bits);
	if (assumed) {
		__sync_fetch_and_add(&s->assumed, -(to - id - sends_since));
		COUNT(flag_assumed, -(__u64)sends);
	}
	if (was.causes_counted)
		count_causes(s, was.bits, -(__s64)sends, 0, was.flagged);
	else
		COUNT(coalesced_seen, sends);
	if (note__any(&note))
		note__remove(s, id);
	count_causes(s, bits, sends, 0, copied);
	if (copied == was.flagged)
		return 0;
	if (copied)
		COUNT(flag_added, sends);
	else
		COUNT(flag_retracted, sends);
	groups__count_completions(&s->owner, 0, copied ? sends : -(__u64)sends);
	return 0;
}

/*
 * Applies the correction in this place if its batch is kept, or can come no more. A global function
 * that takes only numbers.
 */
__noinline int correction__make(__u64 sock, __u32 place)
{
	struct zsock *s = zsock__find(sock);
	__u64 *at, correction;
	__u32 id, turn;
	bool keeping;

	if (!s)
		return 0;
	at = &s->corrections[place & (CORRECTIONS - 1)];
	correction = *(volatile __u64 *)at;
	keeping = batch__may_come(s);
	id = correction >> 32;
	if (!correction || (!batch__find(s, id, &turn) && keeping) ||
	    __sync_val_compare_and_swap(at, correction, 0) != correction)
		return 0;
	__sync_fetch_and_add(&s->corrections_left, -1);
	flags__correct(sock, id, id + ((__u32)correction >> 2), correction & 3);
	return 0;
}

static __always_inline void corrections__make(struct zsock *s)
{
	__u32 i;

	if (!*(volatile __u32 *)&s->corrections_left)
		return;
	for (i = 0; i < CORRECTIONS; i++)
		if (*(volatile __u64 *)&s->corrections[i])
			correction__make(s->sock, i);
}
