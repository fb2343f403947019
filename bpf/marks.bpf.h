/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completed sends count for the marks that copies left on their run: see causes.bpf.h. */
#ifndef SENDPATH_MARKS_BPF_H
#define SENDPATH_MARKS_BPF_H

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
 * So many sends count for a mark; negative: less than was thought. 0 if it does not apply.
 * A function of its own: verified once, not once a mark of each count.
 */
__noinline int mark_count(__u32 mark, __s64 sends, __u32 flagged)
{
	struct tally *tally;

	if (!mark || (!flagged && mark & MARK_ASSUMED))
		return 0;
	tally = tally__get(mark & ~MARK_ASSUMED);
	if (!tally)
		return 0;
	__sync_fetch_and_add(flagged ? &tally->sends : &tally->silent, sends);
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

/* Copies that no hook observed are counted as such. */
static __always_inline void marks__count(__u64 sock, const struct run *marks, __s64 sends,
					 __u64 bytes, bool flagged)
{
	struct tally *none;
	__u32 counted = 0;
	int i;

	for (i = 0; i < RUN_MARKS; i++)
		counted |= mark_count(marks->marks[i], sends, flagged);
	if (flagged) {
		none = counted ? NULL : tally__get(TALLY_NONE);
		if (none)
			__sync_fetch_and_add(&none->sends, sends);
	} else if (counted) {
		silent_count(sock, sends, bytes);
	}
}

/* The sends of a run are completed. */
static __always_inline void run__completed(const struct run_key *key, __u32 sends, __u64 bytes,
					   bool flagged)
{
	struct run marks;

	run__take(key, &marks);
	marks__count(key->sock, &marks, sends, bytes, flagged);
}

#endif
