// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/measured.h"

#include "loadgen/system/hist_stats.h"

#include <string.h>

void measured__free(struct measured *m)
{
	groups__free(&m->groups);
	groups__free(&m->peers);
}

static void add_slot(struct zerocopy_sums *sums, const struct measured *m, __u32 slot)
{
	__u32 error;

	sums->requests += m->calls[slot].sends;
	sums->failed += m->calls[slot].failed;
	sums->ignored += m->calls[slot].ignored;
	sums->empty += m->calls[slot].empty;
	sums->bytes += m->calls[slot].bytes;
	for (error = 0; error < ERRNO_SLOTS; error++)
		sums->errors[error] += m->errors[slot][error];
}

#define URING_SLOT CALL_SLOT(CALL_IO_URING_ZC, true)

void measured__zerocopy(const struct measured *m, struct zerocopy_sums *sums)
{
	__u32 slot;

	memset(sums, 0, sizeof(*sums));
	for (slot = 1; slot < CALL_SLOTS; slot += 2)
		if (slot != URING_SLOT)
			add_slot(sums, m, slot);
}

void measured__uring(const struct measured *m, struct zerocopy_sums *sums)
{
	memset(sums, 0, sizeof(*sums));
	add_slot(sums, m, URING_SLOT);
}

static __s64 outstanding(const struct zerocopy_sums *sums, __u64 completions)
{
	return (__s64)(sums->requests - sums->failed - sums->ignored - completions);
}

__s64 measured__outstanding(const struct measured *m)
{
	struct zerocopy_sums sums;

	measured__zerocopy(m, &sums);
	return outstanding(&sums, m->totals.completions);
}

__s64 measured__uring_outstanding(const struct measured *m)
{
	struct zerocopy_sums sums;

	measured__uring(m, &sums);
	return outstanding(&sums, m->totals.uring_completions);
}

__u64 measured__lost_calls(const struct measured *m, const struct hook_way *way)
{
	const struct totals *t = &m->totals;

	if (way->counts_at_end)
		return m->missed_ends + t->lost_threads + t->lost_processes;
	return t->begun - t->ended + m->missed_begins + t->lost_threads + t->lost_processes;
}

bool measured__pinned_known(const struct measured *m)
{
	return !m->totals.unfollowed && !m->totals.unsized;
}

void measured__mend(struct hist *h)
{
	__u32 low = 0, high = HIST_BUCKETS - 1;

	if (!h->count)
		return;
	while (low < high && !h->buckets[low])
		low++;
	while (high > low && !h->buckets[high])
		high--;
	if (h->min < hist_low(low) || h->min > hist__high(h, low))
		h->min = hist_low(low);
	if (h->max < hist_low(high))
		h->max = hist__high(h, high);
}
