// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/window_counts.h"

#include "common/hist_stats.h"

void call_sums__add(struct call_sums *sums, const struct call_slot *call)
{
	sums->sends += call->failed;
	sums->failed += call->failed;
	sums->ignored += call->ignored;
	for (__u32 i = 0; i < SIZE_CLASSES; i++) {
		sums->sends += call->sizes[i].sends;
		sums->bytes += call->sizes[i].bytes;
	}
	for (__u32 i = 0; i < ERRNO_SLOTS; i++)
		sums->errors[i] += call->errors[i];
	hist__merge(&sums->wall, &call->wall);
}

#define URING_SLOT CALL_SLOT(CALL_IO_URING_ZC, true)

static __u64 least(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

__u64 window_counts__difference(__u64 all, __u64 part)
{
	return all > part ? all - part : 0;
}

static __u64 accepted(const struct call_sums *sums)
{
	return window_counts__difference(sums->sends, sums->failed + sums->ignored);
}

/* Returns the sends whose start was seen, but not their return. */
static __u64 in_progress(const struct window_counts *m)
{
	return m->totals.unreturned + m->in_sends;
}

struct call_sums window_counts__zerocopy(const struct window_counts *m, bool uring)
{
	struct call_sums sums = {};

	for (__u32 slot = 1; slot < CALL_SLOTS; slot += 2)
		if ((slot == URING_SLOT) == uring)
			call_sums__add(&sums, &m->calls[slot]);
	/*
	 * A send whose completion was counted was accepted, even if the window closed before its
	 * return was seen.
	 */
	if (!uring)
		sums.sends +=
			least(window_counts__difference(m->totals.completions, accepted(&sums)),
			      in_progress(m));
	return sums;
}

__u64 window_counts__outstanding(const struct window_counts *m, bool uring)
{
	struct call_sums sums = window_counts__zerocopy(m, uring);
	const struct totals *t = &m->totals;

	return window_counts__difference(
		accepted(&sums),
		uring ? t->uring_completions : t->completions + t->lost_completions + t->untracked);
}

/* Returns the sends in progress whose return was not seen, because the kernel skipped a program. */
static __u64 lost_returns(const struct window_counts *m, bool may_miss)
{
	if (m->programs.missed_unknown[HOOK_SEND])
		return may_miss ? in_progress(m) : 0;
	return least(m->programs.missed_ends, in_progress(m));
}

/*
 * Returns the sends missed by a mechanism that counts at the return. Such a mechanism also counts a
 * send whose beginning was skipped, unless it is the thread's first send, which may have begun
 * before the window.
 */
static __u64 lost_to_the_return(const struct window_counts *m)
{
	return m->programs.missed_ends + least(m->programs.missed_begins, m->totals.returned_first);
}

__u64 window_counts__lost_calls(const struct window_counts *m, const struct hook_option *option,
				bool may_miss)
{
	const struct totals *t = &m->totals;
	__u64 lost = t->lost_threads + t->lost_processes;

	if (option->counts_at_end)
		return lost + lost_to_the_return(m);
	return lost + m->programs.missed_begins + lost_returns(m, may_miss);
}
