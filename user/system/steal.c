// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/system/steal.h"

#include "user/system/files.h"

#include <errno.h>
#include <stdio.h>

/* user nice system idle iowait irq softirq steal; a guest's own time stands in user already. */
#define KINDS 8
#define STEAL 7

int steal__parse(const char *line, struct steal_ticks *ticks)
{
	unsigned long long t[KINDS];
	size_t i;

	if (sscanf(line, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2], &t[3],
		   &t[4], &t[5], &t[6], &t[7]) != KINDS)
		return -EINVAL;
	*ticks = (struct steal_ticks){.steal = t[STEAL]};
	for (i = 0; i < KINDS; i++)
		ticks->all += t[i];
	return 0;
}

double steal__share(const struct steal_ticks *from, const struct steal_ticks *to)
{
	unsigned long long all = to->all - from->all, steal = to->steal - from->steal;

	if (to->all < from->all + STEAL_TICKS)
		return STEAL_UNKNOWN;
	/* Some kernels' counts run backwards a little: steal itself, or what all is the sum of. */
	if (to->steal < from->steal)
		return 0;
	return steal < all ? (double)steal / (double)all : 1;
}

static int read_now(struct steal_ticks *ticks)
{
	char line[512];

	return files__first_line("/proc/stat", line, sizeof(line)) ? steal__parse(line, ticks)
								   : -ENOENT;
}

void steal__begin(struct steal *s)
{
	*s = (struct steal){.share = STEAL_UNKNOWN};
	s->known = !read_now(&s->from);
}

void steal__end(struct steal *s)
{
	struct steal_ticks now;

	if (s->known && !read_now(&now))
		s->share = steal__share(&s->from, &now);
}
