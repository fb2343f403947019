/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which zero-copy sends are still in flight, and whose they are.
 *
 * The kernel numbers the zero-copy sends of a socket from 0 in 32 bits that
 * wrap, one number for each send that succeeded, and reports ranges of them,
 * mostly but not always in order. A message may take several sends; its memory
 * is free again once all of them are complete. Of the free messages the one that
 * was freed last comes first: no more memory is touched than is in flight, and
 * what is touched may still be in the cache.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ledger;

/* first_id is 0 for a new socket. NULL when out of memory. */
struct ledger *ledger__create(uint32_t messages, uint32_t first_id);
void ledger__destroy(struct ledger *l);

/* No room: wait for completions before sending more. */
bool ledger__has_room(const struct ledger *l);

#define LEDGER_NONE UINT32_MAX

/* A free message, the caller's until it is released; LEDGER_NONE: all are in flight. */
uint32_t ledger__take(struct ledger *l);
/* All of it was sent: it is free when its sends are complete. */
void ledger__release(struct ledger *l, uint32_t message);

/* A send of this message succeeded and took the next number. */
void ledger__sent(struct ledger *l, uint32_t message);

/* The sends [low, high] are complete. -EPROTO if any of them is not in flight. */
int ledger__complete(struct ledger *l, uint32_t low, uint32_t high);

uint32_t ledger__in_flight(const struct ledger *l);
