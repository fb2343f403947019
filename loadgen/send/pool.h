/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The messages of one worker, used in turn: as many as may be in flight. Their fields are separate
 * allocations, or lie in memory with requested properties, or are drawn from a data set at each
 * send.
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
	struct memory memory; /* base NULL: malloc() allocates each field */
};

/* Returns how many messages of this load may await completion. */
uint32_t pool__depth(const struct load *load);

/*
 * Returns the bytes that all threads of a load need for messages: those in flight, as they lie in
 * memory, one more for gathering, and what a pipe holds. Data sets are not included.
 */
#define POOL_PIPE_BYTES (1u << 20) /* an unprivileged user's limit; a pipe may be smaller */
double pool__need(const struct load *load);

/* Creates the pool. Destroy it also on failure; s->failure may then have the reason. */
int pool__create(struct pool *p, struct sender *s, const struct load *load, uint32_t count);
void pool__destroy(struct pool *p);

/* Returns the memory of messages: the data set's, or the pool's own if it has any. */
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

/* Fills a message with the content of the next one. */
static always_inline void prepare(const struct sender *s, struct message *m, enum send_mode mode)
{
	if (mode == SEND_REFILL)
		message__fill(m, s->connection, s->number);
	else if (mode == SEND_PICKED)
		dataset__pick(s->dataset, m, s->connection, s->number);
}
