/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sessions with senders on other machines, one at a time (wire.h). */
#pragma once

/* The one session there can be at a time. */
struct sessions;

/* NULL when out of memory. It is never freed: connections may use it to the end. */
struct sessions *sessions__create(void);

/*
 * Serves a new connection in the calling thread and logs its outcome: for a control
 * connection, until the end of the session. Closes fd, unless a receiving thread has
 * it. from: the sender's address, for the log.
 */
void sessions__serve(struct sessions *all, int fd, const char *from);
