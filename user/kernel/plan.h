/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which mechanism each hook uses. The resolver is pure: it asks a kernel seven questions and
 * touches nothing.
 */
#pragma once

#include "user/kernel/hooks.h"

#define SYMBOL_MAX 96

/* A function of the kernel, by its symbols and its types. */
struct kernel_function {
	bool code;		  /* stands in kallsyms under its own name */
	bool typed;		  /* BTF describes it */
	char variant[SYMBOL_MAX]; /* one that the compiler made of it (name.isra.0), or "" */
};

struct features;

/* The questions a plan asks of a kernel. */
struct kernel_facts {
	const struct features *features;
	void (*function)(const struct features *f, const char *name, struct kernel_function *out);
	bool (*has_code)(const struct features *f, const char *name);
	int (*tracepoint_args)(const struct features *f, const char *name); /* -1: none */
	bool (*has_type)(const struct features *f, const char *name);
	/* Why the kernel refuses a mechanism; NULL or empty: it does not. */
	const char *refused[MECHANISM_OFF];
	/* Does it take the CPU from a thread that runs in the kernel? */
	bool preempts;
	/* Can kprobes come from the function graph tracer, which sees every return? */
	bool graph_probes;
};

/* The reason of a hook that a load has no use for: not something that could not be measured. */
#define PLAN_NEVER_ASKS "this load never asks for zero-copy"

enum hook_status { HOOK_PLANNED, HOOK_UNAVAILABLE, HOOK_DISABLED };

struct plan_entry {
	const struct hook_option *option; /* NULL unless planned */
	enum hook_status status;
	bool also;		 /* the kernel has the option's second function, too */
	char symbol[SYMBOL_MAX]; /* what it attaches to */
	char reason[512];	 /* why not; or what it could miss */
};

struct plan {
	struct plan_entry entries[HOOK_COUNT];
};

/* What is measured: one of these, */
enum plan_for {
	PLAN_COPYING_LOAD,
	PLAN_ZEROCOPY_LOAD,
	PLAN_OBSERVATION,
	PLAN_STAGES = 4,  /* and, added to it, the stages of sends, */
	PLAN_PACKETS = 8, /* and the packets that they become */
};

/*
 * Chooses an option for each hook. A forced mechanism is the only one to time sends; other hooks
 * then use it or a tracepoint. MECHANISM_OFF disables all. False if sends cannot be timed as asked:
 * the entry's reason says why.
 */
bool plan__resolve(struct plan *plan, const struct kernel_facts *facts, enum mechanism forced,
		   unsigned int what);

/*
 * A plan of one hook and one option: to find out whether it works. False if the kernel lacks
 * something: the entry's reason says what.
 */
bool plan__only(struct plan *plan, const struct kernel_facts *facts, enum hook_id id,
		const struct hook_option *option);

/* The entry's programs, one after the other, and what each attaches to; NULL after the last. */
const char *plan_entry__program(const struct plan_entry *entry, size_t i, const char **symbol);

/* Do programs see sends of protocols other than TCP? */
bool plan__sees_others(const struct plan *plan);

/* Why a plan does not see unflagged copies; NULL: it does. */
const char *plan__blind_to_unflagged(const struct plan *plan);

/* Which copies of completed zero-copy sends the hooks of a plan see, beside those flagged. */
struct coverage {
	bool completions; /* any at all */
	bool unflagged;	  /* copies without a flag */
	bool unknown;	  /* those that io_uring was not asked to report */
};
struct coverage plan__coverage(const struct plan *plan);

/* The mechanism that times calls; MECHANISM_OFF where none is to. */
enum mechanism plan__mechanism(const struct plan *plan);
