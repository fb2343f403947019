/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A completion counts its sends for the causes whose bits copies left: docs/zerocopy.md. */
#pragma once

#include "causes.bpf.h"
#include "groups.bpf.h"

/* False if the ubuf has none: bits are 0. */
static __always_inline bool ubuf__read_bits(const struct ubuf_key *key, struct cause_bits *bits)
{
	struct cause_bits *ubuf = bpf_map_lookup_elem(&ubufs, key);

	if (ubuf)
		*bits = *ubuf;
	else
		__builtin_memset(bits, 0, sizeof(*bits));
	return ubuf;
}

static __always_inline void ubuf__remove_bits(const struct ubuf_key *key, struct cause_bits *bits)
{
	if (ubuf__read_bits(key, bits))
		bpf_map_delete_elem(&ubufs, key);
}

/*
 * Data that left this machine were not delivered on it: what came in was a copy, for a tap or of a
 * mirror.
 */
static __always_inline __u64 *flagged_sends(struct cause_counter *counter, __u32 bits, bool left)
{
	__u32 index = bits & CAUSE_BITS_COUNTER;
	struct cause_info *in = left ? bpf_map_lookup_elem(&cause_infos, &index) : NULL;

	if (!in || in->key.cause != CAUSE_LOCAL_DELIVERY)
		return &counter->sends;
	return bits & CAUSE_BIT_TAPPED ? &counter->tapped : &counter->mirrored;
}

/*
 * Counts sends for one cause; negative: corrects. 0 if the bits name none. A function of its own:
 * verified once, not once for each of the bits.
 */
__noinline int count_cause(__u32 bits, __s64 sends, __u32 flagged, __u32 left)
{
	struct cause_counter *counter;
	__u64 *field;

	if (!bits || bits & (CAUSE_BIT_LEFT | CAUSE_BIT_LAST) ||
	    (!flagged && bits & CAUSE_BIT_ASSUMED))
		return 0;
	counter = cause_counter__get(bits & CAUSE_BITS_COUNTER);
	if (!counter)
		return 0;
	field = flagged ? flagged_sends(counter, bits, left) : &counter->unreported;
	__sync_fetch_and_add(field, sends);
	return 1;
}

/* Negative: corrects. A function of its own, like the one above. */
__noinline int count_unreported(__u64 sock, __s64 sends, __u64 bytes)
{
	struct zerocopy_socket *s = bpf_map_lookup_elem(&sockets, &sock);
	struct totals *t = totals__get();

	if (!t)
		return 0;
	__sync_fetch_and_add(&t->unreported, sends);
	__sync_fetch_and_add(&t->unreported_bytes, bytes);
	if (s)
		groups__add(&s->who, __builtin_offsetof(struct group, unreported), sends);
	return 0;
}

static __always_inline __u32 bits_at(__u64 low, __u64 high, int i)
{
	return (i < CAUSE_BITS_MAX / 2 ? low : high) >> i % (CAUSE_BITS_MAX / 2) * 16 & 0xffff;
}

/*
 * A flagged copy that no hook observed counts for the last device that was handed the data. Sends
 * without a flag, a cause or an exit from this machine are unexplained. A function of its own, of
 * the bits as two numbers: the caller's stack has no room for them.
 */
__noinline int count_cause_bits(__u64 low, __u64 high, __s64 sends, __u32 flagged)
{
	__u32 counted = 0, last = CAUSE_COUNTER_NONE, left = 0, bits;
	struct cause_counter *none;
	struct totals *t;
	int i;

	for (i = 0; i < CAUSE_BITS_MAX; i++) {
		bits = bits_at(low, high, i);
		left |= bits == CAUSE_BIT_LEFT;
		if (bits & CAUSE_BIT_LAST)
			last = bits & CAUSE_BITS_COUNTER;
	}
	for (i = 0; i < CAUSE_BITS_MAX; i++)
		counted |= count_cause(bits_at(low, high, i), sends, flagged, left);
	if (flagged) {
		none = counted ? NULL : cause_counter__get(last);
		if (none)
			__sync_fetch_and_add(&none->sends, sends);
		return 0;
	}
	t = counted || left ? NULL : totals__get();
	if (t)
		__sync_fetch_and_add(&t->unexplained, sends);
	return counted;
}

static __always_inline void cause_bits__count_sends(__u64 sock, const struct cause_bits *ubuf,
						    __s64 sends, __u64 bytes, bool flagged)
{
	__u64 words[2];

	_Static_assert(sizeof(words) == sizeof(ubuf->bits), "they go into two numbers");
	__builtin_memcpy(words, ubuf->bits, sizeof(words));
	if (count_cause_bits(words[0], words[1], sends, flagged))
		count_unreported(sock, sends, bytes);
}

static __always_inline void ubuf__count_completion(const struct ubuf_key *key, __u32 sends,
						   __u64 bytes, bool flagged)
{
	struct cause_bits bits;

	ubuf__remove_bits(key, &bits);
	cause_bits__count_sends(key->sock, &bits, sends, bytes, flagged);
}
