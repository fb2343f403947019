/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

#include "loadgen/receive/session.h"

/*
 * Takes connections until stop is readable, and gives them what wire.h says. One sender at a time
 * has a session. key: what a sender must prove to have, or NULL. 0 or -errno.
 */
int pending__serve(int listener, int stop, const struct session_limits *limits,
		   const struct key *key);
