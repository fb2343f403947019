/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Chooses the mechanism of each hook. The resolver has no side effects: it reads facts about a
 * kernel by functions.
 */
#pragma once

#include "user/kernel/hooks.h"

#define SYMBOL_MAX 96

/* A kernel function, by its symbols and types. */
struct kernel_function {
	bool code;		  /* kallsyms has the name without a suffix */
	bool typed;		  /* BTF describes it */
	char variant[SYMBOL_MAX]; /* a variant that the compiler generated (name.isra.0), or "" */
};

struct features;

/* Facts about a kernel. */
struct kernel_facts {
	const struct features *features;
	void (*function)(const struct features *f, const char *name, struct kernel_function *out);
	bool (*has_code)(const struct features *f, const char *name);
	int (*tracepoint_args)(const struct features *f, const char *name); /* -1: none */
	bool (*has_type)(const struct features *f, const char *name);
	/* why the kernel refuses a mechanism; NULL or empty: it does not */
	const char *refused[MECHANISM_OFF];
	bool preempts;	   /* threads can be preempted in the kernel */
	bool graph_probes; /* the function graph tracer makes kprobes, and sees every return */
};

/* The reason of a hook that a load does not use: the record misses nothing without it. */
#define PLAN_NEVER_ASKS "this load never asks for zero-copy"

enum hook_status { HOOK_PLANNED, HOOK_UNAVAILABLE, HOOK_DISABLED };

struct plan_entry {
	const struct hook_option *option; /* NULL unless planned */
	enum hook_status status;
	bool also;		 /* the kernel also has the option's second function */
	char symbol[SYMBOL_MAX]; /* what the hook attaches to */
	char reason[512];	 /* why the hook is not used, or what it may miss */
};

struct plan {
	struct plan_entry entries[HOOK_COUNT];
};

/* The purpose of a plan: one of the first three, with any of the others. */
enum plan_for {
	PLAN_COPYING_LOAD,
	PLAN_ZEROCOPY_LOAD,
	PLAN_OBSERVATION,
	PLAN_STAGES = 4,
	PLAN_PACKETS = 8,
};

/*
 * Chooses an option for each hook. If a mechanism is forced, only that one may time sends; other
 * hooks use it or a tracepoint. MECHANISM_OFF disables all hooks. Returns false, with the reason in
 * the entry of HOOK_SEND, if sends cannot be timed in this way.
 */
bool plan__resolve(struct plan *plan, const struct kernel_facts *facts, enum mechanism forced,
		   unsigned int what);

/*
 * Plans the option of this number (below HOOK_OPTIONS_MAX) of the hooks first..end-1, to test
 * whether it works. Returns false, with each entry's reason, if the kernel supports none.
 */
bool plan__options(struct plan *plan, const struct kernel_facts *facts, enum hook_id first,
		   enum hook_id end, size_t number);

/* Returns the entry's program i, and the symbol to which it attaches; NULL after the last. */
const char *plan_entry__program(const struct plan_entry *entry, size_t i, const char **symbol);

/* Returns whether the programs see sends of protocols other than TCP. */
bool plan__sees_others(const struct plan *plan);

/* Returns why a plan does not see unflagged copies; NULL: it sees them. */
const char *plan__blind_to_unflagged(const struct plan *plan);

/* Returns the mechanism that times sends, MECHANISM_OFF without hooks, else MECHANISM_NONE. */
enum mechanism plan__mechanism(const struct plan *plan);
