/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Network devices, and what of MSG_ZEROCOPY they can do. */
#pragma once

#include <net/if.h>
#include <stdbool.h>

struct netdev {
	char name[IF_NAMESIZE];
	char driver[32]; /* "" where it has none */
	bool loopback, scatter_gather, checksum, segmentation;
};

/* Calls back for each device of this namespace. 0 or -errno. */
int netdev__each(void (*found)(void *context, const struct netdev *d), void *context);
