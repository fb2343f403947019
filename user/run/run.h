/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a run is asked for and what came of it, be it of a load or of programs not ours. */
#pragma once

#include "user/kernel/features.h"
#include "user/kernel/plan.h"
#include "user/memory/memory.h"
#include "user/run/generator.h"
#include "user/run/interval_printer.h"
#include "user/system/child.h"
#include "user/system/noise.h"
#include "user/trace/counters.h"
#include "user/trace/session.h"
#include "user/trace/target.h"
#include "user/trace/tracer.h"
#include "user/trace/window_counts.h"

#include <time.h>

struct measurement {
	struct load load;	     /* of an observation, only duration_s: 0 is no end */
	struct tracer_setup tracing; /* its target is observed; NULL: the load is */
	struct child *child;	     /* the observed command, not yet let run; or NULL */
	struct session *session;     /* has the tracer of a load; not of an observation */
	enum mechanism
		mechanism; /* forced; MECHANISM_NONE: the best there is, MECHANISM_OFF: none */
	bool packets;
	bool last;			     /* no further run will attach anything */
	const struct counter_events *events; /* further ones, or NULL */
	const struct memory *memory;	     /* count the memory system too; or NULL */
	struct interval_printer *live;	     /* lines as it goes; or NULL */
	generator_tick tick;
	void *tick_context;
};

/* Counter values of both sides; the arrays live as long as the result. */
struct run_side {
	struct counters *counters; /* NULL: none could be opened */
	const struct counter_value *values;
	size_t count;
};

struct run_result {
	struct timespec started;
	pid_t sender_pid, receiver_pid;
	struct plan plan;
	struct window_counts counts;
	char *maps;	      /* as tracer__dump() wrote them */
	json_object *profile; /* see tracer__profile() */
	char *timeline;	      /* see tracer__timeline() */
	json_object *app;     /* NULL if the load generator ended without a result */
	struct run_side sender, receiver;
	struct memory_run memory;
	json_object *opened, *closed; /* noise__read() when the window did */
	bool window;		      /* a window was measured: there is something to report */
	bool interrupted;
	double observed_s;	/* how long the window of an observation was */
	__u64 in_flight;	/* sends still under way when it closed */
	int command_status;	/* of the observed command, as a shell sees it */
	char error[4096 + 256]; /* empty: all went well */
	int exit_status;	/* that fits the error */
};

/* Notes why, and what the program is to exit with. Returns err. */
int run__fail(struct run_result *result, int err, int exit_status, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The hooks of it, and these attached. 0, or -errno with result->error. */
int run__plan(struct run_result *result, const struct measurement *setup, enum plan_for what);
int run__attach(struct run_result *result, const struct measurement *setup, struct tracer **tracer);
/* Lets all count, or reads what they did: the gate is closed then. The tracer may be NULL. */
void run__open_window(struct run_result *result, const struct measurement *setup,
		      struct tracer *tracer);
int run__close_window(struct run_result *result, const struct measurement *setup,
		      struct tracer *tracer);

/* Runs a load, the programs that watch it, and the counters. 0, or -errno with result->error. */
int run__measure(struct run_result *result, const struct measurement *setup);
/*
 * Watches setup->target until its time is up, its processes have ended, or setup->tick says
 * so. 0, or -errno with result->error.
 */
int run__observe(struct run_result *result, const struct measurement *setup);

/*
 * Opens a window of setup->target, though it may come later, for the caller to read and, by freeing
 * the tracer, to end. 0 and *tracer, or -errno with result->error and NULL.
 */
int run__open_observation(struct run_result *result, const struct measurement *setup,
			  struct tracer **tracer);

/* Of each, in any case. */
void run__free(struct run_result *result);
