/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tracers that outlive a window: loading the programs takes most of a short run. One is kept loaded
 * for each of the last plans, and of these the one that was used last is attached.
 */
#pragma once

#include "user/trace/tracer.h"

#define SESSION_TRACERS 2 /* copying loads and zero-copy ones have different hooks */

/* Zeroed, it is empty. */
struct session {
	struct tracer *tracers[SESSION_TRACERS]; /* the attached one first; NULL: none */
};

/*
 * A tracer for the next window, as from tracer__attach(), in which nothing is left of earlier
 * windows. It belongs to the session.
 */
int session__tracer(struct session *s, struct tracer **out, struct plan *plan,
		    const struct tracer_setup *setup, char *reason, size_t size);

void session__free(struct session *s);
