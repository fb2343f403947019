/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Zero-copy sends in flight: start and size of each, by send id in a ring of the socket. A send
 * whose slot is taken by one that has not completed is not followed, and counted: in a deep
 * pipeline those followed are a sample. Charged is what msg_zerocopy_realloc charges: all that a
 * send asks for, before it knows how much fits into the send buffer.
 */
#pragma once

#include "state.bpf.h"

/* log2 of the page size, set by the analyzer. */
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

static __always_inline void span__add(enum span span, __u64 ns)
{
	__u32 key = span;
	struct hist *h = bpf_map_lookup_elem(&spans, &key);

	if (h)
		hist_put(h, ns);
}

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
 * A slot of the ring: the id's upper bits (the lower ones are the index) above the time of the
 * start, which wraps in three days. 0: free.
 */
#define INFLIGHT_TIME_BITS 48
#define INFLIGHT_TIME_MASK ((1ULL << INFLIGHT_TIME_BITS) - 1)
#define INFLIGHT_ID_MASK   0xffffff

static __always_inline __u64 inflight_word(__u32 id, __u64 start)
{
	return (__u64)(id >> INFLIGHT_BITS) << INFLIGHT_TIME_BITS | (start & INFLIGHT_TIME_MASK);
}

static __always_inline __u32 inflight_id(__u64 word, __u32 slot)
{
	return (__u32)(word >> INFLIGHT_TIME_BITS) << INFLIGHT_BITS | slot;
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
 * Kernels before 5.12 have no atomic operation with a result. The freed sum is read before the
 * addition and the pinned sum after it: their difference is what was pinned, or more by completions
 * in between.
 */
static __always_inline void pinned__charge(volatile struct pinned *p, __u64 bytes)
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
 * The window's own sends, as bits: 32 ids a word, below the number of the block. A newer block
 * takes over an older one's word.
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

/* Sends that have not completed when their word is taken over are lost. */
static __always_inline void window__evict(struct zerocopy_socket *s, __u64 word)
{
	__u32 end = ((__u32)(word >> 32) + 1) << 5, waiting = (__u32)word;
	struct totals *t = totals__get();
	__s32 behind = end - s->completed_to;

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

/* Completions come nearly in the order of ids: a send far behind was not seen to complete. */
static __always_inline bool inflight__is_overdue(const struct zerocopy_socket *s, __u64 word,
						 __u32 slot)
{
	__u32 behind = (s->completed_to - inflight_id(word, slot)) & INFLIGHT_ID_MASK;

	return behind > 4 * INFLIGHT_SLOTS && behind < INFLIGHT_ID_MASK / 2;
}

/* A send that failed may have had the same id: this one takes over its slot. */
static __always_inline void inflight__begin_send(struct thread *thread, struct zerocopy_socket *s,
						 __u32 id)
{
	__u32 slot = id & (INFLIGHT_SLOTS - 1);
	__u64 word = inflight_word(id, thread->start), old = s->inflight[slot];
	struct totals *t = totals__get();
	struct pinned *p = pinned__get();

	if (!t || !p)
		return;
	if (old && (old ^ word) >> INFLIGHT_TIME_BITS) {
		if (!inflight__is_overdue(s, old, slot)) {
			t->unfollowed++;
			return;
		}
		pinned__free(p, s->inflight_bytes[slot]);
	}
	s->inflight_bytes[slot] = thread->size;
	*(volatile __u64 *)&s->inflight[slot] = word;
	thread->inflight = word;
	pinned__charge(p, thread->size);
}

static __always_inline void id__known(struct thread *thread, struct zerocopy_socket *s, __u32 id)
{
	/* A failed send with the same id may not have returned yet. */
	if (!window__has(s, id))
		window__add(s, id);
	thread->id = id;
	thread->tracked = true;
}

/* The send failed: the kernel takes its id back, and another may have it by now. */
static __always_inline void id__taken_back(struct thread *thread, struct zerocopy_socket *s)
{
	__u32 slot = thread->id & (INFLIGHT_SLOTS - 1);
	__u64 word = s->inflight[slot];
	struct pinned *p;

	if (!thread->inflight || word == thread->inflight)
		window__remove(s, thread->id);
	if (!thread->inflight)
		return;
	p = pinned__get();
	if (p)
		pinned__free(p, thread->size);
	if (word == thread->inflight)
		s->inflight[slot] = 0;
}
