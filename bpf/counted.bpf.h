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
					 bool flagged, const struct run *marks)
{
	struct counted *c = counted__at(s, __sync_fetch_and_add(&s->counted_turn, 1));

	__sync_lock_test_and_set(&c->sends, 0);
	c->from = from;
	c->own = own;
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
static __always_inline __u32 counted__since(struct zerocopy_socket *s, __u32 turn, __u32 from,
					    __u32 to)
{
	__u32 next = s->counted_turn, since = 0, i;
	struct counted *c;

	for (i = 1; i <= COUNTED_KEPT; i++) {
		if (!id_before(turn, next - i))
			break;
		c = counted__at(s, next - i);
		if (!id_before(c->from, from) && !id_before(to, c->from + c->sends))
			since += c->sends;
	}
	return since;
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
	bool flagged, assumed, charged, is_marked;
	__u32 turn, sends;
	struct run marks, before;
	struct counted *c;

	/* Between finding a count and keeping its mending other CPUs are not to have time. */
	is_marked = run__read(run, &marks);
	if (!counted__find(s, run->id, &turn)) {
		if (!is_record && id_before(run->id, s->progress))
			__sync_fetch_and_add(&t->flag_assumed, to - run->id);
		return;
	}
	c = counted__at(s, turn);
	flagged = c->flagged;
	assumed = id_before(run->id, c->own);
	if (is_record && !assumed)
		return;
	if (assumed && id_before(c->own, to))
		to = c->own;
	sends = to - run->id - counted__since(s, turn, run->id, to);
	charged = c->charged;
	before = c->marks;
	if (charged || c->from != run->id || c->sends != to - run->id)
		counted__add(s, run->id, run->id, to, copied, &marks);
	else
		counted__charge(c, copied, &marks);
	if (assumed) {
		__sync_fetch_and_add(&s->assumed, -sends);
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

#endif
