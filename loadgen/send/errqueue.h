/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Zero-copy completion notifications, as a socket's error queue holds them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* The sends [low, high] are complete: their number is high - low + 1, in 32 bits. */
struct completion {
	uint32_t low;
	uint32_t high;
	bool copied;
};

/* Finds the completion in a received error message; false if there is none. */
bool errqueue__parse(struct msghdr *m, struct completion *c);

/* Reads one without waiting. Returns 1, 0 if the queue is empty, or -errno. */
int errqueue__read(int fd, struct completion *c);
