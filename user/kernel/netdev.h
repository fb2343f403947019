/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Network devices, and whether MSG_ZEROCOPY can come true on them. */
#pragma once

#include <net/if.h>
#include <stdbool.h>

struct netdev {
	char name[IF_NAMESIZE];
	char driver[32]; /* "" where it has none */
	bool loopback, scatter_gather, checksum, segmentation;
};

/* What became of a zero-copy send through such a device, in words. Pure. */
struct netdev_verdict {
	const char *answer; /* "yes", "no", "depends" */
	const char *why;
};
struct netdev_verdict netdev__zerocopy(const struct netdev *d);

/* Calls back for each device of this namespace. 0 or -errno. */
int netdev__each(void (*found)(void *context, const struct netdev *d), void *context);
