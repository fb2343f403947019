/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Completions that were counted by a record of the error queue, before each
 * notification in it told of itself. The record has one flag for all, and the marks of
 * one run: both are taken for granted until a notification of its own says otherwise.
 * The last few such counts of a socket are kept, so that they can be mended.
 */
#ifndef SENDPATH_COUNTED_BPF_H
#define SENDPATH_COUNTED_BPF_H

#include "causes.bpf.h"
#include "groups.bpf.h"

/* Is this send id before that? They come round. */
static __always_inline bool id_before(__u32 id, __u32 that)
{
	return (__s32)(id - that) < 0;
}

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

/* How old is the latest that has this id? 1 is the last; 0: it is not kept any more. */
static __always_inline __u32 counted__age(struct zerocopy_socket *s, __u32 turn, __u32 id)
{
	struct counted *c;
	__u32 age;

	for (age = 1; age <= COUNTED_KEPT; age++) {
		c = counted__at(s, turn - age);
		if (!id_before(id, c->from) && id_before(id, c->to))
			return age;
	}
	return 0;
}

/* Of the sends from the first to before the last, those of later counts of their own. */
static __always_inline __u32 counted__later(struct zerocopy_socket *s, __u32 turn, __u32 age,
					    __u32 from, __u32 to)
{
	__u32 later = 0, i;
	struct counted *c;

	for (i = 1; i <= COUNTED_KEPT && i < age; i++) {
		c = counted__at(s, turn - i);
		if (!id_before(c->from, from) && !id_before(to, c->to))
			later += c->to - c->from;
	}
	return later;
}

/*
 * A notification tells of its own sends, from the run's first to before the last, which
 * were counted with others. Sends that had joined it may have told of themselves.
 */
static __always_inline void counted__mend(struct zerocopy_socket *s, struct totals *t,
					  const struct run_key *run, __u32 to, bool copied)
{
	__u32 turn = s->counted_turn, age = counted__age(s, turn, run->id), sends;
	struct counted *c = counted__at(s, turn - age);
	bool flagged = c->flagged, assumed;

	if (!age)
		return;
	assumed = id_before(run->id, c->own);
	if (assumed && id_before(c->own, to))
		to = c->own;
	sends = to - run->id - counted__later(s, turn, age, run->id, to);
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

/* Was this id counted by a record that begins after it? */
static __always_inline bool counted__assumed(struct zerocopy_socket *s, __u32 id)
{
	__u32 turn = s->counted_turn, age;

	if (!s->assumed)
		return false;
	age = counted__age(s, turn, id);
	return age && id_before(id, counted__at(s, turn - age)->own);
}

#endif
