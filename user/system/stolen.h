/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CPU time that a hypervisor gave to others while a window was open: it is in all wall times. */
#pragma once

#include <stdbool.h>

#define STOLEN_UNKNOWN (-1.0)
/* Of all CPUs, what a window must have: the share is one in steps of ticks. */
#define STOLEN_TICKS 10

/* Since boot, all CPUs together. */
struct stolen_ticks {
	unsigned long long steal, all;
};

struct stolen {
	struct stolen_ticks from; /* when the window opened, if known */
	bool known;
	double share; /* of the time of all CPUs; STOLEN_UNKNOWN before the end */
};

/* The first line of /proc/stat. 0; -EINVAL if it is none, or of a kernel that does not tell. */
int stolen__parse(const char *line, struct stolen_ticks *ticks);
/* 0 to 1; STOLEN_UNKNOWN if fewer than STOLEN_TICKS lie between them. */
double stolen__share(const struct stolen_ticks *from, const struct stolen_ticks *to);
void stolen__begin(struct stolen *s);
void stolen__end(struct stolen *s);
