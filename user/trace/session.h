/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Keeps tracers for later windows, because loading the programs takes most of a short run. The
 * tracers of the most recent plans stay loaded; only the most recently used one is attached.
 */
#pragma once

#include "user/trace/tracer.h"

#define SESSION_TRACERS 2 /* copying and zero-copy loads have different hooks */

/* A zeroed session is empty. */
struct session {
	struct tracer *tracers[SESSION_TRACERS]; /* the attached tracer first; NULL: none */
	bool ahead;				 /* the attached tracer has had no window yet */
};

/*
 * Returns 0 and a tracer of the session for the next window, attached as by tracer__attach() and
 * without counts of earlier windows; or -errno and NULL.
 */
int session__tracer(struct session *s, struct tracer **out, struct plan *plan,
		    const struct tracer_setup *setup, struct failure *f);

void session__free(struct session *s);
