/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Zero-copy sends in flight: their time, the memory they pin, and the notes about their data. */
#pragma once

#include "zsock.bpf.h"

/* log2 of the page size, set by the analyzer. */
const volatile __u32 page_shift = 12;
/* Are completions counted by the notes that references leave? See reference_gone(). */
const volatile bool counts_references = false;

/* The histograms of enum span. */
PERCPU_ARRAY(spans, SPANS, struct hist);

static __always_inline void span__add(enum span span, __u64 ns)
{
	__u32 key = span;
	struct hist *h = bpf_map_lookup_elem(&spans, &key);

	if (h)
		hist_put(h, ns);
}

/*
 * Adds to a histogram while an interrupt may add to it, too: min and max can then be stale, which
 * the analyzer corrects. The caller adds to the sum, once for several sends.
 */
static __always_inline void completion_took(struct hist *h, __u64 ns)
{
	__u32 bucket;

	if (!h->min || ns < h->min)
		h->min = ns;
	if (ns > h->max)
		h->max = ns;
	bucket = hist_bucket(ns);
	if (bucket < HIST_BUCKETS)
		add(&h->buckets[bucket], 1);
}

/*
 * Pinned memory. It is charged as msg_zerocopy_realloc does, before it is known how much of a send
 * is accepted.
 */
struct pinned pinned;

PERCPU_ARRAY(pinned_peaks, 1, struct pinned_peak);

/* The most pages that a send may touch: what msg_zerocopy_realloc charges. */
static __always_inline __u64 pages_of(__u64 bytes)
{
	return (bytes >> page_shift) + 2;
}

/*
 * Before 5.12 atomic operations have no result. The freed sum is read before the pinned sum: their
 * difference is what was pinned, plus what completed in between. An older freed sum makes it larger
 * still: the cache line of completions is read only where the difference exceeds the peak.
 */
static __always_inline void pinned__charge(__u64 bytes)
{
	volatile struct pinned *p = &pinned;
	struct pinned_peak *peak = FIRST_OF(pinned_peaks);
	__u64 now;

	if (!peak)
		return;
	__sync_fetch_and_add(&p->bytes, bytes);
	__sync_fetch_and_add(&p->pages, pages_of(bytes));
	if (p->bytes - peak->freed_bytes <= peak->bytes &&
	    p->pages - peak->freed_pages <= peak->pages)
		return;
	peak->freed_bytes = p->freed_bytes;
	peak->freed_pages = p->freed_pages;
	now = p->bytes - peak->freed_bytes;
	if (now > peak->bytes)
		peak->bytes = now;
	now = p->pages - peak->freed_pages;
	if (now > peak->pages)
		peak->pages = now;
}

static __always_inline void pinned__free(__u64 bytes, __u64 pages)
{
	__sync_fetch_and_add(&pinned.freed_bytes, bytes);
	__sync_fetch_and_add(&pinned.freed_pages, pages);
}

/*
 * A note is in the slot of its ubuf's first id, as long as the slot belongs to that id and has
 * room. Otherwise, and for what references leave, it is in the map spill.
 */

#define NOTE_KEY(s, id) ((struct note_key){(s)->sock, (s)->generation, id})

/* Finds or creates the note; NULL: there is no room, which counts as lost. */
static __noinline struct note *note__spilled(const struct zsock *s, __u32 id)
{
	struct note_key key = NOTE_KEY(s, id);
	struct note *note = bpf_map_lookup_elem(&spill, &key), fresh = {};

	if (note)
		return note;
	bpf_map_update_elem(&spill, &key, &fresh, BPF_NOEXIST);
	note = bpf_map_lookup_elem(&spill, &key);
	if (!note)
		COUNT(lost_cause_bits, 1);
	return note;
}

static __always_inline struct slot *zsock__slot(struct zsock *s, __u32 id)
{
	return &s->ring[id & RING_MASK];
}

static __always_inline bool slot__has_bits_of(const struct slot *slot, __u32 id)
{
	return slot->id == id && slot->bits[0] != NOTE_MOVED;
}

/* The bits of a ubuf's note, and for how many bits it has room; NULL: it has no note. */
static __always_inline __u16 *note__bits(struct zsock *s, __u32 id, __u32 *room)
{
	struct note_key key = NOTE_KEY(s, id);
	struct slot *slot = zsock__slot(s, id);
	struct note *note;

	if (slot__has_bits_of(slot, id)) {
		*room = SLOT_BITS;
		return slot->bits;
	}
	*room = NOTE_BITS;
	note = bpf_map_lookup_elem(&spill, &key);
	return note ? note->bits : NULL;
}

/* Not 0 if the note has anything. Without branches: the verifier checks what follows once. */
static __always_inline __u64 note__any(const struct note *note)
{
	return note->words[0] | note->words[1] | note->sends;
}

/* Copies the note; all members are 0 if there is none. */
static __noinline void note__read(struct zsock *s, __u32 id, struct note *out)
{
	struct note_key key = NOTE_KEY(s, id);
	struct slot *slot = zsock__slot(s, id);
	struct note *note = NULL, none = {};

	if (!slot__has_bits_of(slot, id) || counts_references)
		note = bpf_map_lookup_elem(&spill, &key);
	*out = note ? *note : none;
	if (slot__has_bits_of(slot, id))
		out->words[0] = slot->word;
}

static __noinline void note__remove(struct zsock *s, __u32 id)
{
	struct note_key key = NOTE_KEY(s, id);
	struct slot *slot = zsock__slot(s, id);

	if (!slot__has_bits_of(slot, id) || counts_references)
		bpf_map_delete_elem(&spill, &key);
	if (slot->id == id)
		slot->word = 0;
}

static __always_inline void note__take(struct zsock *s, __u32 id, struct note *out)
{
	note__read(s, id, out);
	if (note__any(out))
		note__remove(s, id);
}

/* Adds the bits unless they are there. Returns false if there is no room. */
static __always_inline bool bits__set(__u16 *all, __u32 room, __u16 bits)
{
	volatile __u16 *place;
	__u32 i;

	for (i = 0; i < room; i++) {
		place = &all[i];
		if (!*place)
			*place = bits;
		if (*place == bits)
			return true;
	}
	return false;
}

/* Replaces all bits whose part in mask equals value. Returns false if there are none. */
static __noinline bool note__replace_bits(struct zsock *s, __u32 id, __u16 mask, __u16 value,
					  __u16 with)
{
	__u32 room, i;
	__u16 *all = note__bits(s, id, &room);
	bool found = false;

	for (i = 0; all && i < NOTE_BITS && i < room; i++) {
		if ((all[i] & mask) != value)
			continue;
		all[i] = with;
		found = true;
	}
	return found;
}

/*
 * Adds bits to a note for which its slot has no room. A global function that takes only numbers,
 * because it is rare.
 */
__noinline int note__add_spilled(__u64 sock, __u32 id, __u32 bits)
{
	struct zsock *s = zsock__find(sock);
	struct note *note = s ? note__spilled(s, id) : NULL;
	struct slot *slot;

	if (!note)
		return 0;
	slot = zsock__slot(s, id);
	if (slot__has_bits_of(slot, id)) {
		note->words[0] = slot->word;
		slot->word = NOTE_MOVED;
	}
	if (!bits__set(note->bits, NOTE_BITS, bits))
		COUNT(lost_cause_bits, 1);
	return 0;
}

static __noinline void note__add_bits(struct zsock *s, __u32 id, __u16 bits)
{
	struct slot *slot = zsock__slot(s, id);

	if (!slot__has_bits_of(slot, id) || !bits__set(slot->bits, SLOT_BITS, bits))
		note__add_spilled(s->sock, id, bits);
}

/* The slots of sends in flight. */

/*
 * A send gets the slot of its id, unless another send in flight has it. It takes the slot over from
 * a failed send with the same id.
 */
static __noinline void slot__begin(struct zsock *s, struct thread *thread)
{
	struct slot *slot = zsock__slot(s, thread->id);
	struct note *note;

	if (slot->id != thread->id) {
		if (slot->start) {
			/*
			 * Completions follow roughly the order of ids: the completion of a send
			 * that is far behind was missed.
			 */
			if ((__s32)(s->freed_to - slot->id) <= 4 * RING_SLOTS) {
				COUNT(untimed, 1);
				return;
			}
			pinned__free(slot->bytes, pages_of(slot->bytes));
			slot->start = 0;
		}
		if (slot->word && slot->bits[0] != NOTE_MOVED) {
			note = note__spilled(s, slot->id);
			if (note)
				note->words[0] = slot->word;
		}
		slot->word = 0;
	}
	slot->id = thread->id;
	slot->bytes = thread->size;
	*(volatile __u64 *)&slot->start = thread->start;
	thread->followed = 1;
	pinned__charge(thread->size);
}

#define SLOTS_AT_ONCE 8

/*
 * Ends up to SLOTS_AT_ONCE slots of the sends that completed now. A global function that takes only
 * numbers, with a short loop: the verifier checks it once, but every turn of its loop.
 */
__noinline int slots__end_some(__u64 sock, __u32 first, __u32 sends, __u32 from, __u64 now)
{
	__u64 start, took = opaque_zero, bytes = took, pages = took;
	struct zsock *s = zsock__find(sock);
	__u32 key = SPAN_COMPLETION, i;
	struct hist *h = bpf_map_lookup_elem(&spans, &key);
	struct slot *slot;

	if (!s || !h)
		return 0;
	for (i = 0; i < SLOTS_AT_ONCE && from + i < sends; i++) {
		slot = zsock__slot(s, first + from + i);
		start = slot->start;
		if (!start || slot->id - first >= sends)
			continue;
		bytes += slot->bytes;
		pages += pages_of(slot->bytes);
		*(volatile __u64 *)&slot->start = 0;
		if (s->shared)
			continue;
		took += now - start;
		completion_took(h, now - start);
	}
	if (pages)
		pinned__free(bytes, pages);
	if (took)
		add(&h->sum, took);
	return 0;
}

/*
 * Ends the slots of completed sends, also of those that do not count. Their bits stay until they
 * are counted. A global function, as above.
 */
__noinline int slots__end(__u64 sock, __u32 first, __u32 sends)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 from;

	for (from = 0; from < RING_SLOTS && from < sends; from += SLOTS_AT_ONCE)
		slots__end_some(sock, first, sends, from, now);
	return 0;
}
