/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Completions that were counted by a record of the error queue, before each notification
 * in it told of itself. The record has one flag for all, and the marks of one run: both
 * are taken for granted until a notification of its own says otherwise. The last few such
 * counts of a socket are kept, so that they can be mended.
 */
#ifndef SENDPATH_COUNTED_BPF_H
#define SENDPATH_COUNTED_BPF_H

#include "groups.bpf.h"
#include "marks.bpf.h"

static __always_inline struct counted *counted__at(struct zerocopy_socket *s, __u32 turn)
{
	return &s->counted[turn & (COUNTED_KEPT - 1)];
}

/*
 * Ids from the first to before the last were counted with this flag. Those before own are
 * of records that were not looked at.
 */
static __always_inline struct counted *counted__add(struct zerocopy_socket *s, __u32 from,
						    __u32 own, __u32 to, bool flagged)
{
	struct counted *c = counted__at(s, __sync_fetch_and_add(&s->counted_turn, 1));

	c->from = from;
	c->own = own;
	c->to = to;
	c->flagged = flagged;
	c->charged = false;
	return c;
}

/* The causes of these sends are those of the run. */
static __always_inline void counted__charge(struct counted *c, const struct run_key *run,
					    __u32 sends)
{
	run__take(run, &c->marks);
	marks__count(&c->marks, sends, 0, c->flagged);
	c->charged = true;
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
		if (id - c->from < c->to - c->from)
			return true;
	}
	return false;
}

/* Of the sends from the first to before the last, those of counts of their own after a turn. */
static __always_inline __u32 counted__since(struct zerocopy_socket *s, __u32 turn, __u32 from,
					    __u32 to)
{
	__u32 next = s->counted_turn, since = 0, i;
	struct counted *c;

	for (i = 1; i <= COUNTED_KEPT; i++) {
		if (!id_before(turn, next - i))
			break;
		c = counted__at(s, next - i);
		if (!id_before(c->from, from) && !id_before(to, c->to))
			since += c->to - c->from;
	}
	return since;
}

/*
 * A notification tells of its own sends, from the run's first to before the last, which
 * were counted with others. Sends that had joined it may have told of themselves. If it is
 * a record of its own, there is something to mend only if it was counted by a later one.
 */
static __always_inline void counted__mend(struct zerocopy_socket *s, struct totals *t,
					  const struct run_key *run, __u32 to, bool copied,
					  bool is_record)
{
	bool flagged, assumed;
	__u32 turn, sends;
	struct counted *c;

	if (!counted__find(s, run->id, &turn))
		return;
	c = counted__at(s, turn);
	flagged = c->flagged;
	assumed = id_before(run->id, c->own);
	if (is_record && !assumed)
		return;
	if (assumed && id_before(c->own, to))
		to = c->own;
	sends = to - run->id - counted__since(s, turn, run->id, to);
	if (assumed) {
		__sync_fetch_and_add(&s->assumed, -sends);
		__sync_fetch_and_add(&t->flag_assumed, -(__u64)sends);
	}
	if (c->charged)
		marks__count(&c->marks, -(__s64)sends, 0, flagged);
	else
		__sync_fetch_and_add(&t->merged_seen, sends);
	if (c->charged || c->from != run->id || c->to != to)
		c = counted__add(s, run->id, run->id, to, copied);
	c->flagged = copied;
	counted__charge(c, run, sends);
	if (copied && !flagged) {
		__sync_fetch_and_add(&t->copied_later, sends);
		groups__complete(&s->who, 0, sends);
	}
	if (!copied && flagged) {
		__sync_fetch_and_add(&t->copied_not, sends);
		groups__complete(&s->who, 0, -(__u64)sends);
	}
}

#endif
