/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One load that is taken from a sender elsewhere (wire.h): its messages, connections, limits, end.
 */
#pragma once

#include <poll.h>

#include "loadgen/receive/wire.h"

/* What one session may have at most. */
struct session_limits {
	size_t bytes;
	double seconds;
};

#define SESSION_LOOK_MS 1000 /* how often its limits are looked at */

struct session;

/*
 * Accepts a sender whose hello was CONTROL, and who is from there; has fd then. The secret is told
 * to who has no key to know it by. NULL with why not.
 */
struct session *session__begin(int fd, const struct wire_hello *control, const uint8_t *secret,
			       bool tell, const struct session_limits *limits, const char *from,
			       const char **why);

/* Has a connection received whose hello was DATA. NULL, or why not: then fd stays the caller's. */
const char *session__join(struct session *s, int fd, const struct wire_hello *data);

/*
 * What to poll for; and what to do when something happened, or SESSION_LOOK_MS passed: NULL, or why
 * it has to end, "" where its sender closed it.
 */
void session__prepare(const struct session *s, struct pollfd events[2]);
const char *session__go_on(struct session *s, const struct pollfd events[2]);

/* Has its sender closed it, whatever may still be to be read? */
bool session__is_closed(const struct session *s);

/* Ends its connections, and all that it has. */
void session__end(struct session *s, const char *why);
