/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What serves senders elsewhere (wire.h): the connections that come, and the one load at a time. */
#pragma once

#include <stddef.h>

struct key;

/* What one session may have at most. */
struct session_limits {
	size_t bytes;
	double seconds;
};

/*
 * Takes connections until stop is readable, and gives them what wire.h says. One sender at a time
 * has a session. key: what a sender must prove to have, perhaps empty. 0 or -errno.
 */
int session__serve(int listener, int stop, const struct session_limits *limits,
		   const struct key *key);
