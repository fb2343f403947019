/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What loadgen serve gives to strangers, and how much of it (wire.h). Guests are connections
 * that have not said yet what they want; one sender at a time has a session.
 */
#pragma once

#include <stdint.h>

#include "common/program.h"
#include "loadgen/receive/wire.h"

struct control;

/* What one session may have at most. */
struct session_limits {
	size_t bytes;
	double seconds;
};

struct sessions;

/* NULL when out of memory. It is never freed: a session may use it to the end. */
struct sessions *sessions__create(const struct session_limits *limits);

/*
 * Begins a session with a sender whose hello was CONTROL, in a thread of its own that has fd
 * then; or has it that a connection of the session is received. NULL, or why not: then fd
 * stays the caller's. from: the sender's address, for the log.
 */
const char *sessions__begin(struct sessions *all, int fd, const struct wire_hello *h,
			    const char *from);
const char *sessions__join(struct sessions *all, int fd, const struct wire_hello *h);

/* In the calling thread, to the end of the session: for tests. */
const char *sessions__conduct(struct sessions *all, int fd, const struct wire_hello *h,
			      const char *from);

/* Takes connections until the control says STOP. key: what a sender must prove to have, or
 * NULL. 0 or -errno. */
int guests__serve(int listener, struct control *control, struct sessions *sessions,
		  const struct key *key);

/* A line on stderr; of more than a few a second it is counted how many are left out. */
void serve__log(const char *format, ...) __attribute__((format(printf, 1, 2)));
