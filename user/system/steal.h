/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CPU time that a hypervisor gave to others while a window was open: it is in all wall times. */
#pragma once

#include <stdbool.h>

#define STEAL_UNKNOWN (-1.0)
/* Of all CPUs, what a window must have: the share is one in steps of ticks. */
#define STEAL_TICKS 10

/* Since boot, all CPUs together. */
struct steal_ticks {
	unsigned long long steal, all;
};

struct steal {
	struct steal_ticks from; /* when the window opened, if known */
	bool known;
	double share; /* of the time of all CPUs; STEAL_UNKNOWN before the end */
};

/* The first line of /proc/stat. 0; -EINVAL if it is none, or of a kernel that does not tell. */
int steal__parse(const char *line, struct steal_ticks *ticks);
/* 0 to 1; STEAL_UNKNOWN if fewer than STEAL_TICKS lie between them. */
double steal__share(const struct steal_ticks *from, const struct steal_ticks *to);
void steal__begin(struct steal *s);
void steal__end(struct steal *s);
