/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One run, from the first socket to the result: forks the receiver, connects,
 * warms up, waits for the word, measures, and puts all away again.
 */
#ifndef SENDPATH_RUN_H
#define SENDPATH_RUN_H

#include "loadgen/run/result.h"

struct control;

/*
 * 0: there is a result, with its own failure if something went wrong in the
 * window; the caller owes the driver the RESULT. Otherwise a negative errno and
 * *f, and nothing was measured.
 */
int run__execute(const struct load *load, struct control *control, struct result *r,
		 struct failure *f);

#endif
