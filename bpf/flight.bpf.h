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
#pragma once

#include "state.bpf.h"

/* The page of this kernel, as a power of two: set by the analyzer. */
extern const volatile __u32 page_shift;
/* No program sees which id a send gets: it is taken to be the socket's next. */
extern const volatile bool ids_guessed;

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
 * The window's own sends, by id: a completion counts for these and for no other. A word has 32
 * ids as bits, and above them which: an older word's place is taken over.
 */
#define WINDOW_BLOCK(id) ((id) >> 5)
#define WINDOW_BIT(id)	 (1ULL << ((id)&31))

static __always_inline __u64 *window__word(struct zerocopy_socket *s, __u32 block)
{
	return &s->window_ids[block & (WINDOW_WORDS - 1)];
}

static __always_inline __u32 count_bits(__u32 bits)
{
	return __builtin_popcount(bits);
}

/* Words are in use so many ids long; those that have not completed by then are lost. */
static __always_inline void window__evict(struct zerocopy_socket *s, __u64 word)
{
	__u32 end = ((__u32)(word >> 32) + 1) << 5, waiting = (__u32)word;
	struct totals *t = totals__get();
	__s32 behind = end - s->landed;

	if (!t || behind <= 0 || !waiting)
		return;
	if (behind < 32)
		waiting &= ~0U << (32 - behind);
	__sync_fetch_and_add(&t->untracked, count_bits(waiting));
	__sync_fetch_and_add(&s->waiting, -count_bits(waiting));
}

static __always_inline bool window__has(struct zerocopy_socket *s, __u32 id)
{
	__u64 word = *window__word(s, WINDOW_BLOCK(id));

	return word >> 32 == WINDOW_BLOCK(id) && word & WINDOW_BIT(id);
}

/*
 * The id is not yet the window's. Kernels before 5.12 have atomic additions alone, and refuse a
 * program that holds others; as a bit is set once, adding it sets it. Where ids are guessed, two
 * threads may set the same one at once: that is no addition.
 */
static __always_inline void window__add(struct zerocopy_socket *s, __u32 id)
{
	__u64 *word = window__word(s, WINDOW_BLOCK(id)), old = *(volatile __u64 *)word;

	if (old >> 32 != WINDOW_BLOCK(id)) {
		window__evict(s, old);
		*(volatile __u64 *)word = (__u64)WINDOW_BLOCK(id) << 32 | WINDOW_BIT(id);
	} else if (ids_guessed) {
		*(volatile __u64 *)word = old | WINDOW_BIT(id);
	} else {
		__sync_fetch_and_add(word, WINDOW_BIT(id));
	}
	__sync_fetch_and_add(&s->waiting, 1);
}

static __always_inline void window__remove(struct zerocopy_socket *s, __u32 id)
{
	if (!window__has(s, id))
		return;
	__sync_fetch_and_add(window__word(s, WINDOW_BLOCK(id)), -WINDOW_BIT(id));
	__sync_fetch_and_add(&s->waiting, -1);
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
	pinned__book(p, thread->size);
}

/* The thread's send has this id, be it followed or not. */
static __always_inline void id__known(struct thread *thread, struct zerocopy_socket *s, __u32 id)
{
	/* One that failed had it too, and has not returned yet. */
	if (!window__has(s, id))
		window__add(s, id);
	thread->id = id;
	thread->tracked = true;
}

/* It was not accepted: the kernel takes its id back, and perhaps gave it to another by now. */
static __always_inline void id__taken_back(struct thread *thread, struct zerocopy_socket *s)
{
	__u32 place = thread->id & (FLIGHT_SLOTS - 1);
	__u64 word = s->flights[place];
	struct pinned *p;

	if (!thread->flight || word == thread->flight)
		window__remove(s, thread->id);
	if (!thread->flight)
		return;
	p = pinned__get();
	if (p)
		pinned__free(p, thread->size);
	if (word == thread->flight)
		s->flights[place] = 0;
}
