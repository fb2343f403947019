/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a ring of zero-copy sends has told so far, and what it owes: of each operation a
 * result and, if that says that more follows, a notification.
 */
#ifndef SENDPATH_URING_ZC_H
#define SENDPATH_URING_ZC_H

#include "loadgen/send/pool.h"
#include "loadgen/send/ring.h"

struct uring_zc {
	struct io_uring ring;
	struct pool pool;
	struct msghdr message;
	uint32_t *pending;  /* of a message: its notifications to come */
	uint32_t *failed;   /* those of them that are of operations that failed */
	uint32_t in_flight; /* notifications to come, of all */
	uint32_t failing;   /* those of them that are of operations that failed */
	uint32_t depth;
	bool reuse_early, registered;
	unsigned int usage; /* the flag that asks for it, where the kernel knows it */
	/* What the results said of the operations that were submitted together. */
	unsigned int awaited;
	size_t taken;
	int err;
};

/*
 * Returns once a result or a notification was taken, of the sender whose state is a
 * struct uring_zc. -ETIMEDOUT if none came by then (0: never), -ECANCELED if it is
 * vain to wait.
 */
int uring_zc__await(struct sender *s, uint64_t until_ns);

/* Takes what came meanwhile, so that it does not pile up in the kernel: no system call. */
void uring_zc__take(struct sender *s);

#endif
