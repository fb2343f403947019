// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/window_counts.h"

#include <string.h>

struct sized_sends call__accepted(const struct call_slot *call)
{
	struct sized_sends sum = {};
	__u32 i;

	for (i = 0; i < SIZE_CLASSES; i++) {
		sum.sends += call->sizes[i].sends;
		sum.bytes += call->sizes[i].bytes;
	}
	return sum;
}

__u64 call__sends(const struct call_slot *call)
{
	return call__accepted(call).sends + call->failed;
}

static void add_slot(struct zerocopy_sums *sums, const struct window_counts *m, __u32 slot)
{
	struct sized_sends accepted = call__accepted(&m->calls[slot]);
	__u32 error;

	sums->requests += accepted.sends + m->calls[slot].failed;
	sums->failed += m->calls[slot].failed;
	sums->ignored += m->calls[slot].ignored;
	sums->bytes += accepted.bytes;
	for (error = 0; error < ERRNO_SLOTS; error++)
		sums->errors[error] += m->calls[slot].errors[error];
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

static __u64 accepted(const struct zerocopy_sums *sums)
{
	return window_counts__difference(sums->requests, sums->failed + sums->ignored);
}

__u64 window_counts__under_way(const struct window_counts *m)
{
	return m->totals.unreturned + m->in_sends;
}

/*
 * A send whose completion was counted was accepted, even if the window closed before its return was
 * seen.
 */
static void add_under_way(struct zerocopy_sums *sums, const struct window_counts *m)
{
	__u64 more = window_counts__difference(m->totals.completions, accepted(sums));
	__u64 under_way = window_counts__under_way(m);

	sums->requests += least(more, under_way);
}

void window_counts__zerocopy(const struct window_counts *m, bool uring, struct zerocopy_sums *sums)
{
	__u32 slot;

	memset(sums, 0, sizeof(*sums));
	for (slot = 1; slot < CALL_SLOTS; slot += 2)
		if ((slot == URING_SLOT) == uring)
			add_slot(sums, m, slot);
	if (!uring)
		add_under_way(sums, m);
}

__u64 window_counts__outstanding(const struct window_counts *m, bool uring)
{
	struct zerocopy_sums sums;

	window_counts__zerocopy(m, uring, &sums);
	return window_counts__difference(accepted(&sums), uring ? m->totals.uring_completions
								: m->totals.completions);
}

/* Of the sends without a seen return, those whose return the kernel skipped. */
static __u64 lost_returns(const struct window_counts *m, bool may_miss)
{
	__u64 under_way = window_counts__under_way(m);

	if (m->programs.missed_unknown[HOOK_SEND])
		return may_miss ? under_way : 0;
	return least(m->programs.missed_ends, under_way);
}

/*
 * A program at the return also counts a send whose beginning was skipped; but it takes a thread's
 * first such send for one of before the window.
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
