/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The run's own link: two unnamed network namespaces, connected by a veth pair, with an end of the
 * load in each. They disappear with the processes, however these end.
 */
#pragma once

#include "common/program.h"

/* Addresses for benchmarks (RFC 2544). */
#define LINK_SENDER   "198.18.0.1"
#define LINK_RECEIVER "198.18.0.2"
#define LINK_DEVICE   "veth0" /* the sender's */

struct link {
	int sender; /* the sender's namespace; -1: no link */
};

/*
 * Creates the link, and moves the calling thread, which must be the only one, into the receiver's
 * namespace, to listen and to fork there. Returns 0 or -errno. l->sender is -1 at first; l must be
 * closed in any case.
 */
int link__create(struct link *l, struct failure *f);

/* Enters the sender's namespace and sets up its device's address. Does nothing without a link. */
int link__enter_sender(const struct link *l, struct failure *f);

void link__close(struct link *l);
