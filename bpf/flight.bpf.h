/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Zero-copy sends in flight: when each began and what it asked for, until the
 * kernel is done with it. Kept by send id in a ring of the socket. A send that finds
 * its place taken by an earlier one that has not completed is not followed, and
 * counted: in a deep pipeline those that are followed are a sample.
 *
 * What is booked here is what the kernel books: msg_zerocopy_realloc accounts for all
 * that a send asks for, before it knows how much of it fits into the send buffer.
 */
#ifndef SENDPATH_FLIGHT_BPF_H
#define SENDPATH_FLIGHT_BPF_H

#include "state.bpf.h"

/* The page of this kernel, as a power of two: set by the analyzer. */
extern const volatile __u32 page_shift;
/* A program sees which id a send gets; else it is taken to be the socket's next. */
extern const volatile bool ids_seen;

struct span_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SPANS);
	__type(key, __u32);
	__type(value, struct hist);
};
extern struct span_map spans SEC(".maps");

struct pinned_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pinned);
};
extern struct pinned_map pinned SEC(".maps");

struct pinned_peak_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pinned_peak);
};
extern struct pinned_peak_map pinned_peaks SEC(".maps");

/*
 * A place of the ring: the id's upper bits (the lower ones are the place) above the
 * time of the beginning, which comes round in three days. 0: free.
 */
#define FLIGHT_TIME_BITS 48
#define FLIGHT_TIME_MASK ((1ULL << FLIGHT_TIME_BITS) - 1)
#define FLIGHT_ID_MASK	 0xffffff

static __always_inline __u64 flight_word(__u32 id, __u64 start)
{
	return (__u64)(id >> FLIGHT_BITS) << FLIGHT_TIME_BITS | (start & FLIGHT_TIME_MASK);
}

static __always_inline __u32 flight_id(__u64 word, __u32 place)
{
	return (__u32)(word >> FLIGHT_TIME_BITS) << FLIGHT_BITS | place;
}

/* As far as msg_zerocopy_realloc accounts: pages that a send may touch at worst. */
static __always_inline __u64 pages_of(__u64 bytes)
{
	return (bytes >> page_shift) + 2;
}

static __always_inline struct pinned *pinned__get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&pinned, &zero);
}

/*
 * Kernels before 5.12 have no atomic operation that tells the result. What was freed
 * is read before the sum and what is booked after it, so their difference was never
 * less than what was pinned at that time, and is that unless a completion came in
 * between.
 */
static __always_inline void pinned__book(volatile struct pinned *p, __u64 bytes)
{
	__u64 freed_bytes, freed_pages, now;
	struct pinned_peak *peak;
	__u32 zero = 0;

	peak = bpf_map_lookup_elem(&pinned_peaks, &zero);
	if (!peak)
		return;
	freed_bytes = p->freed_bytes;
	freed_pages = p->freed_pages;
	__sync_fetch_and_add(&p->bytes, bytes);
	__sync_fetch_and_add(&p->pages, pages_of(bytes));
	now = p->bytes - freed_bytes;
	if (now > peak->bytes)
		peak->bytes = now;
	now = p->pages - freed_pages;
	if (now > peak->pages)
		peak->pages = now;
}

static __always_inline void pinned__free(struct pinned *p, __u64 bytes)
{
	__sync_fetch_and_add(&p->freed_bytes, bytes);
	__sync_fetch_and_add(&p->freed_pages, pages_of(bytes));
}

/*
 * Completions come in the order of ids, but for a few: one that is so far behind was
 * not seen to complete, and its place is free.
 */
static __always_inline bool flight_overdue(const struct zerocopy_socket *s, __u64 word, __u32 place)
{
	__u32 behind = (s->landed - flight_id(word, place)) & FLIGHT_ID_MASK;

	return behind > 4 * FLIGHT_SLOTS && behind < FLIGHT_ID_MASK / 2;
}

/* The thread's send has this id. One that failed had it too: its place is taken over. */
static __always_inline void flight__begin(struct thread *thread, struct zerocopy_socket *s,
					  __u32 id)
{
	__u32 place = id & (FLIGHT_SLOTS - 1);
	__u64 word = flight_word(id, thread->start), old = s->flights[place];
	struct totals *t = totals__get();
	struct pinned *p = pinned__get();

	if (!t || !p)
		return;
	if (old && (old ^ word) >> FLIGHT_TIME_BITS) {
		if (!flight_overdue(s, old, place)) {
			t->unfollowed++;
			return;
		}
		pinned__free(p, s->flight_bytes[place]);
	}
	s->flight_bytes[place] = thread->size;
	*(volatile __u64 *)&s->flights[place] = word;
	thread->flight = word;
	thread->flight_place = place;
	pinned__book(p, thread->size);
}

/* It was not accepted: the kernel takes its id back, and perhaps gave it to another by now. */
static __always_inline void flight__failed(struct thread *thread, struct zerocopy_socket *s)
{
	__u32 place = thread->flight_place & (FLIGHT_SLOTS - 1);
	struct pinned *p = pinned__get();

	if (p)
		pinned__free(p, thread->size);
	if (s->flights[place] == thread->flight)
		s->flights[place] = 0;
}

#endif
