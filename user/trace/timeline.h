/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What happened to single sends, as the kernel programs say it while the window is open. */
#pragma once

#include "bpf/abi.h"

#include <bpf/libbpf.h>
#include <stdbool.h>

struct timeline;

/* How often it is to be read, so that the ring does not fill up. */
#define TIMELINE_MS 5

/*
 * Of so many sends; slower_ns: of those alone that took longer, of all; 0: of the first. 0 and
 * *out, or -errno.
 */
int timeline__open(struct timeline **out, const struct bpf_map *ring, unsigned int sends,
		   __u64 slower_ns);
/* NULL is fine. */
void timeline__free(struct timeline *t);

/* Forgets what is there: a window is about to open. */
void timeline__clear(struct timeline *t);
/* Takes what came since. False: there are so many slow sends as were asked for. */
bool timeline__read(struct timeline *t);

/* All of it as JSON, to be freed; lost: events without room, of all CPUs. NULL: memory is short. */
char *timeline__json(struct timeline *t, __u64 lost);
