/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which zero-copy sends are still in flight, and whose they are.
 *
 * The kernel numbers the zero-copy sends of a socket from 0 in 32 bits that
 * wrap, one number for each send that succeeded, and reports ranges of them,
 * mostly but not always in order. A message may take several sends; its memory
 * is free again once all of them are complete.
 */
#ifndef SENDPATH_LEDGER_H
#define SENDPATH_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

struct ledger;

/* first_id is 0 for a new socket. NULL when out of memory. */
struct ledger *ledger__create(uint32_t messages, uint32_t first_id);
void ledger__destroy(struct ledger *l);

/* No room: wait for completions before sending more. */
bool ledger__has_room(const struct ledger *l);

/* A send of this message succeeded and took the next number. */
void ledger__sent(struct ledger *l, uint32_t message);

/* The sends [low, high] are complete. -EPROTO if any of them is not in flight. */
int ledger__complete(struct ledger *l, uint32_t low, uint32_t high);

bool ledger__busy(const struct ledger *l, uint32_t message);
uint32_t ledger__in_flight(const struct ledger *l);

#endif
