/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes a run: measures a load, or observes programs. */
#pragma once

#include "user/kernel/features.h"
#include "user/kernel/plan.h"
#include "user/memory/memory.h"
#include "user/run/generator.h"
#include "user/run/interval_sender.h"
#include "user/system/child.h"
#include "user/system/noise.h"
#include "user/trace/counters.h"
#include "user/trace/session.h"
#include "user/trace/target.h"
#include "user/trace/tracer.h"
#include "user/trace/window_counts.h"

#include <time.h>

struct measurement {
	struct load load;	     /* an observation uses only duration_s; 0: no end */
	struct tracer_setup tracing; /* its target is observed; NULL: the load is measured */
	struct child *child;	     /* the observed command, not started yet; or NULL */
	struct session *session;     /* keeps the tracer of loads; not used for an observation */
	enum mechanism
		mechanism; /* forced; MECHANISM_NONE: the best available, MECHANISM_OFF: no hooks */
	bool packets;
	bool last;			     /* no later run will attach programs */
	const struct counter_events *events; /* additional events, or NULL */
	const struct memory *memory;	     /* also count the memory system; or NULL */
	struct interval_sender *live;	     /* for --interval; or NULL */
	generator_tick tick;		     /* NULL: an observation without end */
	void *tick_context;
};

struct run_result {
	struct timespec started; /* of the window; before it opens, of the run */
	pid_t sender_pid, receiver_pid;
	struct plan plan;
	struct window_counts counts;
	char *maps;			    /* from tracer__dump() */
	json_object *profile;		    /* from tracer__profile() */
	char *timeline;			    /* from tracer__timeline() */
	json_object *app;		    /* NULL: the load generator ended without a result */
	struct counters *sender, *receiver; /* NULL: none could be opened */
	struct memory_run memory;
	json_object *opened, *closed; /* noise__read() when the window opened and closed */
	bool window;		      /* a window was measured, so there is a result to report */
	bool interrupted;
	double observed_s;  /* length of an observation's window */
	__u64 in_flight;    /* sends in progress when the window closed */
	int command_status; /* exit status of the observed command, as a shell shows it */
	bool timed_out;	    /* the command still ran, and was ended, so it has no status */
	struct failure failure;
};

/* Plans the hooks of the run, and attaches them. 0, or -errno with result->failure. */
int run__plan(struct run_result *result, const struct measurement *setup, enum plan_for what);
int run__attach(struct run_result *result, const struct measurement *setup, struct tracer **tracer);
/* Start all counters; or stop and read them, when the gate is closed. The tracer may be NULL. */
void run__open_window(struct run_result *result, const struct measurement *setup,
		      struct tracer *tracer);
int run__close_window(struct run_result *result, const struct measurement *setup,
		      struct tracer *tracer);

/*
 * Loads and attaches the programs of the session's first load while the front starts. If that
 * fails, the run tries again and reports why.
 */
void run__attach_ahead(const struct measurement *setup);
/* Runs a load, with its programs and counters. 0, or -errno with result->failure. */
int run__measure(struct run_result *result, const struct measurement *setup);
/*
 * Observes setup->tracing.target until the time is up, its processes have ended, or setup->tick
 * returns true. 0, or -errno with result->failure.
 */
int run__observe(struct run_result *result, const struct measurement *setup);

/*
 * Opens a window of setup->tracing.target, which need not exist yet. The caller reads the window,
 * and ends it by freeing the tracer. 0 and *tracer, or -errno with result->failure and NULL.
 */
int run__open_observation(struct run_result *result, const struct measurement *setup,
			  struct tracer **tracer);

/* Frees a result in any state. */
void run__free(struct run_result *result);
