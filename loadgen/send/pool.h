/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The messages of one worker, which take turns: as many as may be in flight. Their
 * fields are allocations of their own, or lie in memory that was asked for specially,
 * or are drawn from a data set at each send.
 */
#pragma once

#include "loadgen/data/message.h"
#include "loadgen/send/sender.h"
#include "loadgen/send/slot.h"

struct load;

struct pool {
	struct message *messages;
	uint32_t count;
	uint32_t turn;	      /* the message to send next */
	struct memory memory; /* base NULL: of none in particular */
};

/* How many messages of this load may wait for the kernel to be done with them. */
uint32_t pool__depth(const struct load *load);

/*
 * Bytes that all threads of a load have for messages: those in flight as they lie in memory, one
 * more that they may be gathered in, and what a pipe holds. Data sets are not in it.
 */
#define POOL_PIPE_BYTES (1u << 20) /* what anybody may have, if less, then less */
double pool__need(const struct load *load);

/* On failure nothing is left behind; the words are in s->failure. */
int pool__create(struct pool *p, struct sender *s, const struct load *load, uint32_t count);
void pool__destroy(struct pool *p);

/* The memory that its messages are sent from: its own, the data set's, or NULL. */
const struct memory *pool__memory(const struct pool *p, const struct sender *s);

static inline struct message *pool__next(struct pool *p)
{
	return &p->messages[p->turn];
}

static inline void pool__advance(struct pool *p)
{
	if (++p->turn == p->count)
		p->turn = 0;
}

/* Gives a message the content of the next one. */
static always_inline void prepare(const struct sender *s, struct message *m, enum send_mode mode)
{
	if (mode == SEND_REFILL)
		message__fill(m, s->connection, s->number);
	else if (mode == SEND_PICKED)
		dataset__pick(s->dataset, m, s->connection, s->number);
}
