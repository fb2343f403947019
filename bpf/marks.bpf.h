/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completed sends count for the marks that copies left on their run: see causes.bpf.h. */
#pragma once

#include "causes.bpf.h"
#include "groups.bpf.h"

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

/*
 * So many sends of a socket were copied without a flag; negative: less than was thought. A
 * function of its own, like the one above.
 */
__noinline int silent_count(__u64 sock, __s64 sends, __u64 bytes)
{
	struct zerocopy_socket *s = bpf_map_lookup_elem(&sockets, &sock);
	struct totals *t = totals__get();

	if (!t)
		return 0;
	__sync_fetch_and_add(&t->silent, sends);
	__sync_fetch_and_add(&t->silent_bytes, bytes);
	if (s)
		groups__silent(&s->who, sends);
	return 0;
}

static __always_inline __u32 mark_of(__u64 low, __u64 high, int i)
{
	return (i < RUN_MARKS / 2 ? low : high) >> i % (RUN_MARKS / 2) * 16 & 0xffff;
}

/*
 * Copies that no hook observed are counted as such, for the device that was last to be handed
 * the data. Of sends without a flag it tells whether they were copied all the same; one that is
 * not known to be without a copy is unexplained. A function of its own, of the marks as two
 * numbers: the caller's stack has no room for it.
 */
__noinline int marks_count(__u64 low, __u64 high, __s64 sends, __u32 flagged)
{
	__u32 counted = 0, last = TALLY_NONE, left = 0, mark;
	struct tally *none;
	struct totals *t;
	int i;

	for (i = 0; i < RUN_MARKS; i++) {
		mark = mark_of(low, high, i);
		left |= mark == MARK_LEFT;
		if (mark & MARK_LAST)
			last = mark & MARK_TALLY;
	}
	for (i = 0; i < RUN_MARKS; i++)
		counted |= mark_count(mark_of(low, high, i), sends, flagged, left);
	if (flagged) {
		none = counted ? NULL : tally__get(last);
		if (none)
			__sync_fetch_and_add(&none->sends, sends);
		return 0;
	}
	t = counted || left ? NULL : totals__get();
	if (t)
		__sync_fetch_and_add(&t->unexplained, sends);
	return counted;
}

static __always_inline void marks__count(__u64 sock, const struct run *run, __s64 sends,
					 __u64 bytes, bool flagged)
{
	__u64 words[2];

	_Static_assert(sizeof(words) == sizeof(run->marks), "they go into two numbers");
	__builtin_memcpy(words, run->marks, sizeof(words));
	if (marks_count(words[0], words[1], sends, flagged))
		silent_count(sock, sends, bytes);
}

/* The sends of a run are completed. */
static __always_inline void run__completed(const struct run_key *key, __u32 sends, __u64 bytes,
					   bool flagged)
{
	struct run marks;

	run__take(key, &marks);
	marks__count(key->sock, &marks, sends, bytes, flagged);
}
