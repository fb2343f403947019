/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Chooses the mechanism of each hook. The resolver is pure: it gets facts about a kernel by
 * functions, and has no side effects.
 */
#pragma once

#include "user/kernel/hooks.h"

#define SYMBOL_MAX 96

/* A kernel function, by its symbols and types. */
struct kernel_function {
	bool code;		  /* kallsyms has its own name */
	bool typed;		  /* BTF describes it */
	char variant[SYMBOL_MAX]; /* a variant that the compiler made (name.isra.0), or "" */
};

struct features;

/* Facts about a kernel. */
struct kernel_facts {
	const struct features *features;
	void (*function)(const struct features *f, const char *name, struct kernel_function *out);
	bool (*has_code)(const struct features *f, const char *name);
	int (*tracepoint_args)(const struct features *f, const char *name); /* -1: none */
	bool (*has_type)(const struct features *f, const char *name);
	/* Why the kernel refuses a mechanism; NULL or empty: it does not. */
	const char *refused[MECHANISM_OFF];
	/* Can threads be preempted in the kernel? */
	bool preempts;
	/* Can the function graph tracer make kprobes? It sees every return. */
	bool graph_probes;
};

/* The reason of a hook that a load does not use: nothing is missing. */
#define PLAN_NEVER_ASKS "this load never asks for zero-copy"

enum hook_status { HOOK_PLANNED, HOOK_UNAVAILABLE, HOOK_DISABLED };

struct plan_entry {
	const struct hook_option *option; /* NULL unless planned */
	enum hook_status status;
	bool also;		 /* the kernel also has the option's second function */
	char symbol[SYMBOL_MAX]; /* what it attaches to */
	char reason[512];	 /* why it is not used; or what it may miss */
};

struct plan {
	struct plan_entry entries[HOOK_COUNT];
};

/* What is measured: one of these, */
enum plan_for {
	PLAN_COPYING_LOAD,
	PLAN_ZEROCOPY_LOAD,
	PLAN_OBSERVATION,
	PLAN_STAGES = 4,  /* the stages of sends in addition, */
	PLAN_PACKETS = 8, /* the packets of sends in addition */
};

/*
 * Chooses an option for each hook. Only a forced mechanism may then time sends; other hooks use it
 * or a tracepoint. MECHANISM_OFF disables all. Returns false if sends cannot be timed like this;
 * the entry's reason says why.
 */
bool plan__resolve(struct plan *plan, const struct kernel_facts *facts, enum mechanism forced,
		   unsigned int what);

/*
 * A plan with the option of this number (below HOOK_OPTIONS_MAX) of each hook from first to end-1,
 * to test whether it works. Returns false if the kernel lacks something for all of them; an entry's
 * reason says what.
 */
bool plan__options(struct plan *plan, const struct kernel_facts *facts, enum hook_id first,
		   enum hook_id end, size_t number);

/* The entry's programs in turn, and the symbol to which each attaches; NULL after the last. */
const char *plan_entry__program(const struct plan_entry *entry, size_t i, const char **symbol);

/* Do the programs see sends of protocols other than TCP? */
bool plan__sees_others(const struct plan *plan);

/* Why a plan does not see unflagged copies; NULL: it does. */
const char *plan__blind_to_unflagged(const struct plan *plan);

/* The mechanism that times calls; MECHANISM_OFF if none does. */
enum mechanism plan__mechanism(const struct plan *plan);
