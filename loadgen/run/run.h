/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One run, from the first socket to the result: forks the other end, connects,
 * warms up, waits for GO, measures, and cleans up. Each workload is a struct run_ops:
 * run_stream.c, run_serving.c.
 */
#pragma once

#include "loadgen/run/control.h"
#include "loadgen/run/result.h"
#include "loadgen/system/barrier.h"
#include "loadgen/system/link.h"
#include "loadgen/system/listener.h"

struct run {
	const struct load *load;
	const struct run_ops *ops;
	struct control *control;
	struct link link;
	struct listener listener;
	struct child other;	/* the receiver, or the server */
	struct barrier barrier; /* of our threads */
	struct cpus cpus;
	bool stopped;	      /* somebody asked for the end */
	bool dead;	      /* the other end */
	const char *given_up; /* why not all that was sent was waited for; NULL: it was */
	void *state;	      /* the workload's own */
};

struct run_ops {
	bool sends; /* the record shows this process as the sender; else it is the client */

	/* Allocates the state and checks limits; 0 or -errno, as all of these. */
	int (*prepare)(struct run *run, struct failure *f);
	/* Opens the listener and forks the other end, where it is to be. */
	int (*fork)(struct run *run, struct failure *f);
	/* Makes the connections and the threads, which wait at the barrier. */
	int (*connect)(struct run *run, struct failure *f);

	/* Before a phase: it lasts until the deadline, or so many messages each. */
	void (*begin)(struct run *run, uint64_t deadline_ns, uint64_t messages);
	void (*stop)(struct run *run);
	/* Gives up what is under way, so that whoever waits for it fails. */
	void (*abandon)(struct run *run);
	/* Bytes that arrived so far. NULL: nothing is given up for their sake. */
	uint64_t (*received)(struct run *run);
	/* What remains after the end ends by itself. Or NULL. */
	bool (*delivered)(struct run *run);

	/* Around the window: open and close may be NULL; count returns when it ended. */
	void (*open)(struct run *run);
	void (*close)(struct run *run, struct result *r);
	uint64_t (*count)(struct run *run, struct result *r);
	/* What was counted, for contradictions. Or NULL. */
	void (*check)(const struct run *run, struct result *r);
	void (*print)(const struct result *r);
	void (*put_away)(struct run *run);
};

extern const struct run_ops run_stream, run_serving;

/*
 * 0: there is a result, with its own failure if something went wrong in the
 * window; the caller owes the driver the RESULT. Otherwise a negative errno and
 * *f, and nothing was measured.
 */
int run__execute(const struct load *load, struct control *control, struct result *r,
		 struct failure *f);

/* loadgen serve: its own arguments, until interrupted. Returns the exit status. */
int serve__main(int argc, char **argv);
