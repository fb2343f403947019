/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a receiver on this machine takes from senders elsewhere, one at a time (wire.h). */
#pragma once

/* The one session there can be at a time. */
struct sessions;

/* NULL when out of memory. It is never freed: connections may use it to the end. */
struct sessions *sessions__create(void);

/*
 * Takes a new connection and says what becomes of it, in the calling thread: until the
 * end of the session for one that conducts it. Closes fd, unless a receiving thread has
 * it. from: whose it is, for the log.
 */
void sessions__take(struct sessions *all, int fd, const char *from);
