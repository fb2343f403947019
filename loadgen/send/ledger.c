/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "loadgen/send/ledger.h"

struct ledger {
	uint32_t next;	 /* number of the next send */
	uint32_t oldest; /* every number before it is complete */
	uint32_t in_flight;
	uint32_t mask;
	uint32_t *owner;   /* of a number: its message, or LEDGER_NONE */
	uint32_t *pending; /* of a message: its sends in flight, and 1 while it is taken */
	uint32_t *free;	   /* messages that are not pending, a stack */
	uint32_t free_count;
};

struct ledger *ledger__create(uint32_t messages, uint32_t first_id)
{
	struct ledger *l = calloc(1, sizeof(*l));
	uint32_t size = 1024;

	if (!l)
		return NULL;
	while (size < 4 * messages)
		size *= 2;
	l->next = l->oldest = first_id;
	l->mask = size - 1;
	l->owner = malloc(size * sizeof(*l->owner));
	l->pending = calloc(messages, sizeof(*l->pending));
	l->free = malloc(messages * sizeof(*l->free));
	if (!l->owner || !l->pending || !l->free) {
		ledger__destroy(l);
		return NULL;
	}
	for (uint32_t i = 0; i < size; i++)
		l->owner[i] = LEDGER_NONE;
	while (l->free_count < messages) {
		l->free[l->free_count] = messages - 1 - l->free_count; /* 0 comes first */
		l->free_count++;
	}
	return l;
}

void ledger__destroy(struct ledger *l)
{
	if (!l)
		return;
	free(l->owner);
	free(l->pending);
	free(l->free);
	free(l);
}

bool ledger__has_room(const struct ledger *l)
{
	return l->next - l->oldest <= l->mask;
}

uint32_t ledger__take(struct ledger *l)
{
	uint32_t message;

	if (!l->free_count)
		return LEDGER_NONE;
	message = l->free[--l->free_count];
	l->pending[message]++;
	return message;
}

void ledger__release(struct ledger *l, uint32_t message)
{
	if (!--l->pending[message])
		l->free[l->free_count++] = message;
}

void ledger__sent(struct ledger *l, uint32_t message)
{
	l->owner[l->next++ & l->mask] = message;
	l->pending[message]++;
	l->in_flight++;
}

int ledger__complete(struct ledger *l, uint32_t low, uint32_t high)
{
	uint32_t open = l->next - l->oldest;

	/* Distances from the oldest, so that the wrap does not matter. */
	if (low - l->oldest >= open || high - l->oldest >= open || high - low >= open)
		return -EPROTO;
	for (uint32_t id = low; id != high + 1; id++) {
		uint32_t *owner = &l->owner[id & l->mask];

		if (*owner == LEDGER_NONE)
			return -EPROTO;
		ledger__release(l, *owner);
		*owner = LEDGER_NONE;
		l->in_flight--;
	}
	while (l->oldest != l->next && l->owner[l->oldest & l->mask] == LEDGER_NONE)
		l->oldest++;
	return 0;
}

uint32_t ledger__in_flight(const struct ledger *l)
{
	return l->in_flight;
}
