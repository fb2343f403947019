/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The in-flight table of a socket: its zero-copy sends in flight, the message of each, and the
 * notifications in the error queue that complete them.
 *
 * The kernel numbers a socket's zero-copy sends from 0, in 32 bits that wrap, one number for each
 * successful send. It reports ranges of numbers, mostly but not always in order. A message may take
 * several sends; its memory is free when all of them are complete. The message that was freed last
 * is reused first: this touches the least memory, which may still be in the cache.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct inflight;

/* Creates a table, which free() frees; NULL: out of memory. A new socket's first_id is 0. */
struct inflight *inflight__create(uint32_t messages, uint32_t first_id);

/* Returns false if the table is full; the caller must then wait for completions. */
bool inflight__has_room(const struct inflight *l);

#define INFLIGHT_NONE UINT32_MAX

/* Takes a free message, which is the caller's until released; INFLIGHT_NONE: all are in flight. */
uint32_t inflight__take_message(struct inflight *l);
/* Marks a message as sent: it becomes free when its sends are complete. */
void inflight__release_message(struct inflight *l, uint32_t message);

/* Counts a successful send of this message, which took the next number. */
void inflight__count_send(struct inflight *l, uint32_t message);

/* Completes the sends [low, high]. Returns -EPROTO if any of them is not in flight. */
int inflight__complete(struct inflight *l, uint32_t low, uint32_t high);

uint32_t inflight__count(const struct inflight *l);

/* The sends [low, high] are complete: their number is high - low + 1, in 32 bits. */
struct completion {
	uint32_t low;
	uint32_t high;
	bool copied;
};

/* Finds the completion in a received error message; returns false if there is none. */
bool completion__parse(struct msghdr *m, struct completion *c);

/* Reads one completion without waiting. Returns 1, 0 if the queue is empty, or -errno. */
int completion__read(int fd, struct completion *c);
