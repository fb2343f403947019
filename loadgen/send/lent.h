/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory that the kernel sends from without ever saying that it is done: pages that
 * came by splice() or sendfile(). An acknowledgement would not do, as on one machine
 * the receiver's queue still holds these very pages. So a message is written to again
 * when the receiving program has taken the whole of it, which it tells (slot.h); a
 * retransmission after that is dropped unread.
 */
#ifndef SENDPATH_LENT_H
#define SENDPATH_LENT_H

#include "loadgen/send/pool.h"
#include "loadgen/send/slot.h"

struct lent {
	struct pool pool;
	uint64_t *ends; /* of each message: the connection's bytes when it was sent */
	uint64_t total; /* bytes sent since the connection began */
	bool reuse_early;
};

/* On failure nothing is left behind. */
int lent__create(struct lent *l, struct sender *s, const struct load *load);
void lent__destroy(struct lent *l);

/* Returns when the next message may be written to. -EPIPE if it never may. */
static inline int lent__await(struct lent *l, struct sender *s)
{
	uint64_t end = l->ends[l->pool.turn];

	if (l->reuse_early || atomic_load(&s->slot->received) >= end)
		return 0;
	return slot__await(s->slot, end);
}

/* The next message was sent, all of it. */
static inline void lent__sent(struct lent *l)
{
	l->total += pool__next(&l->pool)->bytes;
	l->ends[l->pool.turn] = l->total;
	pool__advance(&l->pool);
}

#endif
