/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The segments of zero-copy sends: the parts of a message, which the kernel pins one by one. They
 * are read from the message's iterator when the send begins.
 */
#pragma once

#include "state.bpf.h"

PERCPU_ARRAY(send_shapes, SEND_SHAPES, struct send_shapes);

/* A segment as the kernel stores it: an iovec, or a bio_vec of a registered buffer. */
struct segment {
	__u64 base;
	__u64 length; /* bio_vec: the lower half; the upper half is its place in its page */
};

/* The sums of one send. */
struct shape {
	__u64 segments;
	__u64 small;
	__u64 small_bytes;
	__u64 header_bytes; /* in small segments before the first larger one */
	__u64 least;	    /* 0: no segment yet */
	__u64 has_larger;
};

/*
 * The working memory for one send, which is too large for a program's stack. The sums are here,
 * too: the verifier does not follow values in maps, so for it each part of the loop begins with the
 * same state.
 */
struct segments {
	struct segment read[SEGMENTS_READ];
	struct shape shape;
	__u64 left;    /* bytes of the message that are not added yet */
	__u64 skip;    /* bytes of the first segment that are before the message */
	__u64 joined;  /* bytes of the last segment so far */
	__u64 goes_on; /* 1: the last segment ends inside a page */
};

PERCPU_ARRAY(segments, 1, struct segments);

struct iov_iter___before_5_14 {
	unsigned int type; /* a bit mask, with ITER_BVEC */
} __attribute__((preserve_access_index));

static __always_inline bool has_pages(struct iov_iter *from)
{
	__u32 bvec = bpf_core_enum_value(enum iter_type, ITER_BVEC);

	if (bpf_core_field_exists(from->iter_type))
		return READ(from, iter_type) == bvec;
	return READ((struct iov_iter___before_5_14 *)from, type) & bvec;
}

static __always_inline void shape__add(struct shape *s, __u64 bytes)
{
	if (!bytes)
		return;
	s->segments++;
	if (!s->least || bytes < s->least)
		s->least = bytes;
	if (bytes < SMALL_SEGMENT) {
		s->small++;
		s->small_bytes += bytes;
	} else if (!s->has_larger) {
		s->has_larger = 1;
		s->header_bytes = s->small_bytes;
	}
}

static __always_inline void shape__count(__u32 index, const struct shape *s, __u64 unread)
{
	struct send_shapes *sums = bpf_map_lookup_elem(&send_shapes, &index);

	if (!sums)
		return;
	sums->sends++;
	sums->segments += s->segments;
	sums->unread += unread;
	sums->small += s->small;
	sums->small_bytes += s->small_bytes;
	if (s->header_bytes) {
		sums->headed++;
		sums->header_bytes += s->header_bytes;
	}
	if (s->least && (!sums->min || s->least < sums->min))
		sums->min = s->least;
}

/*
 * Adds a bio_vec that was read. It continues the last segment if that ended at the end of a page,
 * and the bio_vec begins at the beginning of one.
 */
GLOBAL int segments__add_pages(__u32 i)
{
	struct segments *all = FIRST_OF(segments);
	__u64 page = (1ULL << page_shift) - 1, place, bytes;

	if (!all || i >= SEGMENTS_READ)
		return 0;
	place = (all->read[i].length >> 32) + all->skip;
	bytes = (__u32)all->read[i].length - all->skip;
	if (bytes > all->left)
		bytes = all->left;
	if (all->goes_on || place & page) {
		shape__add(&all->shape, all->joined);
		all->joined = 0;
	}
	all->skip = 0;
	all->left -= bytes;
	all->joined += bytes;
	all->goes_on = ((place + bytes) & page) != 0;
	return 0;
}

/* Reads the segments into all->shape. Returns how many segments were not read. */
static __always_inline __u64 segments__read(struct segments *all, struct iov_iter *from,
					    __u64 count)
{
	__u64 most = count < SEGMENTS_READ ? count : SEGMENTS_READ;
	__u64 size = opaque(most * sizeof(all->read[0]));
	__u32 i;

	if (size > sizeof(all->read) || bpf_probe_read_kernel(all, size, READ(from, kvec)))
		return count;
	all->skip = READ(from, iov_offset);
	if (!has_pages(from)) {
		all->read[0].length -= all->skip;
		/* Linux 5.10 refuses a loop whose end reaches its beginning without a jump. */
		_Pragma("unroll") for (i = 0; i < SEGMENTS_READ; i++)
		{
			if (i >= most)
				break;
			shape__add(&all->shape, all->read[i].length);
			/* Has clang store the sums. */
			__asm__ volatile("" ::: "memory");
		}
		return count - most;
	}
	all->left = READ(from, count);
	all->joined = 0;
	for (i = 0; i < SEGMENTS_READ && i < most; i++)
		segments__add_pages(i);
	/* count is that of the whole buffer. The bytes not read are added to the last segment. */
	shape__add(&all->shape, all->joined + all->left);
	return all->left ? 1 : 0;
}

/* Counts a zero-copy send that begins; message: the address of its struct msghdr. */
GLOBAL int shape__count_send(__u64 message, __u32 index)
{
	struct msghdr *msg = (struct msghdr *)message;
	struct segments *all = FIRST_OF(segments);
	__u64 count = READ(msg, msg_iter.nr_segs), unread = 0;

	if (!all)
		return 0;
	all->shape = (struct shape){};
	if (count > 1)
		unread = segments__read(all, &msg->msg_iter, count);
	else
		shape__add(&all->shape, READ(msg, msg_iter.count));
	shape__count(index, &all->shape, unread);
	return 0;
}
