/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One run, from the first socket to the result: forks the other end, connects, warms up, waits for
 * GO, measures and cleans up. Each workload is a struct run_ops: run_stream.c, run_serving.c.
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
	struct barrier barrier; /* for our threads */
	struct cpus cpus;
	uint64_t start_ns;    /* start of the phase: the warm-up, or the window */
	bool stopped;	      /* the run was asked to end */
	const char *given_up; /* why the run did not wait for all sent data; NULL: it did */
	void *state;	      /* the workload's own state */
};

struct run_ops {
	bool sends; /* this process is the record's sender; else it is the client */

	/* Allocates the state and checks limits. This and the following return 0 or -errno. */
	int (*prepare)(struct run *run, struct failure *f);
	/* Opens the listener and forks the other end, in that end's namespace and on its CPUs. */
	int (*fork)(struct run *run, struct failure *f);
	/* Opens the connections and starts the threads, which then wait at the barrier. */
	int (*connect)(struct run *run, struct failure *f);

	/* Starts a phase, which lasts until the deadline, or for this many messages per thread. */
	void (*begin)(struct run *run, uint64_t deadline_ns, uint64_t messages);
	void (*stop)(struct run *run);
	/* Aborts what is in progress, so that all waits for it fail. */
	void (*abandon)(struct run *run);
	/* Returns the bytes that have arrived. NULL: slow arrivals never end the run. */
	uint64_t (*received)(struct run *run);
	/* Returns the bytes in the send buffers. NULL: the pace of arrivals is not judged. */
	uint64_t (*unsent)(struct run *run);
	/* Returns whether all data arrived; the rest then ends by itself. May be NULL. */
	bool (*delivered)(struct run *run);

	/* Called before and after the window; open may be NULL. */
	void (*open)(struct run *run);
	uint64_t (*count)(struct run *run, struct result *r);
	/* Checks the counts for contradictions. May be NULL. */
	void (*check)(const struct run *run, struct result *r);
	void (*print)(const struct result *r);
	void (*clean_up)(struct run *run);
};

extern const struct run_ops run_stream, run_serving;

/*
 * Returns 0 if there is a result, which the caller must send; r->failure shows what went wrong in
 * the window. Otherwise nothing was measured: returns a negative errno and sets *f.
 */
int run__execute(const struct load *load, struct control *control, struct result *r,
		 struct failure *f);

/* Runs loadgen serve, with its own arguments, until it is interrupted. Returns the exit status. */
int serve__main(int argc, char **argv);
