/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completed sends count for the marks that copies left on their run: see causes.bpf.h. */
#ifndef SENDPATH_MARKS_BPF_H
#define SENDPATH_MARKS_BPF_H

#include "causes.bpf.h"

/* The marks of a run. False if it has none, which is what they then say. */
static __always_inline bool run__read(const struct run_key *key, struct run *marks)
{
	struct run *run = bpf_map_lookup_elem(&runs, key);

	if (run)
		*marks = *run;
	else
		__builtin_memset(marks, 0, sizeof(*marks));
	return run;
}

/* The marks of a run, which is forgotten. */
static __always_inline void run__take(const struct run_key *key, struct run *marks)
{
	if (run__read(key, marks))
		bpf_map_delete_elem(&runs, key);
}

/*
 * Where flagged sends of a mark count. Data that left this machine were not delivered on it:
 * what came in here was a copy, for a tap or of a mirror.
 */
static __always_inline __u64 *flagged_sends(struct tally *tally, __u32 mark, bool left)
{
	__u32 index = mark & MARK_TALLY;
	struct tally_info *in = left ? bpf_map_lookup_elem(&tally_infos, &index) : NULL;

	if (!in || in->key.cause != CAUSE_LOCAL_DELIVERY)
		return &tally->sends;
	return mark & MARK_TAPPED ? &tally->tapped : &tally->mirrored;
}

/*
 * So many sends count for a mark; negative: less than was thought. 0 if it does not apply.
 * A function of its own: verified once, not once a mark of each count.
 */
__noinline int mark_count(__u32 mark, __s64 sends, __u32 flagged, __u32 left)
{
	struct tally *tally;
	__u64 *field;

	if (!mark || mark & (MARK_LEFT | MARK_LAST) || (!flagged && mark & MARK_ASSUMED))
		return 0;
	tally = tally__get(mark & MARK_TALLY);
	if (!tally)
		return 0;
	field = flagged ? flagged_sends(tally, mark, left) : &tally->silent;
	__sync_fetch_and_add(field, sends);
	return 1;
}

/* Not flagged, and copied all the same; or not known to be without a copy. */
static __always_inline void marks__count_unflagged(__s64 sends, __u64 bytes, bool seen, bool left)
{
	struct totals *t = seen || !left ? totals__get() : NULL;

	if (!t)
		return;
	if (!seen) {
		__sync_fetch_and_add(&t->unexplained, sends);
		return;
	}
	__sync_fetch_and_add(&t->silent, sends);
	__sync_fetch_and_add(&t->silent_bytes, bytes);
}

static __always_inline __u32 mark_of(__u64 low, __u64 high, int i)
{
	return (i < RUN_MARKS / 2 ? low : high) >> i % (RUN_MARKS / 2) * 16 & 0xffff;
}

/*
 * What no hook saw the copies of counts as such, for the device that it was last seen at. A
 * function of its own, of the marks as two numbers: the caller's stack has no room for it.
 */
__noinline int marks_count(__u64 low, __u64 high, __s64 sends, __u64 bytes, __u32 flagged)
{
	__u32 counted = 0, last = TALLY_NONE, left = 0, mark;
	struct tally *none;
	int i;

	for (i = 0; i < RUN_MARKS; i++) {
		mark = mark_of(low, high, i);
		left |= mark == MARK_LEFT;
		if (mark & MARK_LAST)
			last = mark & MARK_TALLY;
	}
	for (i = 0; i < RUN_MARKS; i++)
		counted |= mark_count(mark_of(low, high, i), sends, flagged, left);
	if (!flagged) {
		marks__count_unflagged(sends, bytes, counted, left);
		return 0;
	}
	none = counted ? NULL : tally__get(last);
	if (none)
		__sync_fetch_and_add(&none->sends, sends);
	return 0;
}

static __always_inline void marks__count(const struct run *marks, __s64 sends, __u64 bytes,
					 bool flagged)
{
	__u64 words[2];

	_Static_assert(sizeof(words) == sizeof(*marks), "its marks go into two numbers");
	__builtin_memcpy(words, marks, sizeof(words));
	marks_count(words[0], words[1], sends, bytes, flagged);
}

/* The sends of a run are completed. */
static __always_inline void run__completed(const struct run_key *key, __u32 sends, __u64 bytes,
					   bool flagged)
{
	struct run marks;

	run__take(key, &marks);
	marks__count(&marks, sends, bytes, flagged);
}

#endif
