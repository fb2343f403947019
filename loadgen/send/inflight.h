/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The in-flight table: which zero-copy sends are still in flight, and whose they are; and
 * the notifications of a socket's error queue, which complete them.
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
#include <sys/socket.h>

struct inflight;

/* first_id is 0 for a new socket. NULL when out of memory. */
struct inflight *inflight__create(uint32_t messages, uint32_t first_id);
void inflight__destroy(struct inflight *l);

/* No room: wait for completions before sending more. */
bool inflight__has_room(const struct inflight *l);

#define INFLIGHT_NONE UINT32_MAX

/* A free message, the caller's until it is released; INFLIGHT_NONE: all are in flight. */
uint32_t inflight__take_message(struct inflight *l);
/* All of it was sent: it is free when its sends are complete. */
void inflight__release_message(struct inflight *l, uint32_t message);

/* A send of this message succeeded and took the next number. */
void inflight__count_send(struct inflight *l, uint32_t message);

/* The sends [low, high] are complete. -EPROTO if any of them is not in flight. */
int inflight__complete(struct inflight *l, uint32_t low, uint32_t high);

uint32_t inflight__count(const struct inflight *l);

/* The sends [low, high] are complete: their number is high - low + 1, in 32 bits. */
struct completion {
	uint32_t low;
	uint32_t high;
	bool copied;
};

/* Finds the completion in a received error message; false if there is none. */
bool completion__parse(struct msghdr *m, struct completion *c);

/* Reads one without waiting. Returns 1, 0 if the queue is empty, or -errno. */
int completion__read(int fd, struct completion *c);
