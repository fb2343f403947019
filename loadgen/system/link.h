/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A link of the run's own: two network namespaces without a name, joined by a pair of
 * virtual Ethernet devices, an end of the load in each. They go with the processes,
 * however these end.
 */
#pragma once

#include "common/program.h"

/* From the range that is set aside for benchmarks (RFC 2544). */
#define LINK_SENDER   "198.18.0.1"
#define LINK_RECEIVER "198.18.0.2"
#define LINK_DEVICE   "veth0" /* the sender's */

struct link {
	int sender; /* namespace, or -1: there is no link */
};

/*
 * Makes them; the calling thread, which must be alone, is then in the receiver's, to
 * listen and to fork there. 0 or -errno; l, whose sender is -1, is to be closed in any case.
 */
int link__create(struct link *l, struct failure *f);

/* Goes over to the sender's, whose device then has its address. Does nothing without a link. */
int link__enter_sender(const struct link *l, struct failure *f);

void link__close(struct link *l);
