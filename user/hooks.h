/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which hooks there are, by which mechanisms each can be had, and which one a run
 * uses. The table is data and the resolver is pure: it asks what the kernel has
 * through four questions and touches nothing.
 */
#ifndef SENDPATH_HOOKS_H
#define SENDPATH_HOOKS_H

#include <stdbool.h>
#include <stddef.h>

enum mechanism { MECHANISM_NONE, MECHANISM_FENTRY, MECHANISM_TRACEPOINT };

/* What a hook answers; the index into a plan. */
enum hook_id { HOOK_SEND, HOOK_COMPLETION, HOOK_SKB_COPY, HOOK_RECEIVER_COPY, HOOK_COUNT };

struct tracepoint_need {
	const char *name;
	int args; /* at least */
};

/* One way to have a hook. */
struct hook_way {
	enum mechanism mechanism;
	const char *symbol;	  /* what it attaches to, as people say it */
	const char *span;	  /* what a time measured by it covers; NULL: it measures none */
	const char *programs[4];  /* NULL-terminated names in the BPF object */
	const char *functions[3]; /* NULL-terminated: must be in the kernel */
	struct tracepoint_need tracepoints[3]; /* ends with a NULL name */
	const char *code;   /* a function whose place in memory must be known, or NULL */
	const char *misses; /* what it could miss, or NULL */
};

#define WAYS_MAX 3

struct hook {
	const char *name;
	const char *purpose;
	bool zerocopy_only;		/* of no use to a load that never asks for zero-copy */
	struct hook_way ways[WAYS_MAX]; /* best first; ends with MECHANISM_NONE */
};

enum hook_status { HOOK_PLANNED, HOOK_UNAVAILABLE, HOOK_DISABLED };

struct plan_entry {
	const struct hook_way *way; /* NULL unless planned */
	enum hook_status status;
	char reason[256]; /* why not; or what it could miss */
};

struct plan {
	struct plan_entry entries[HOOK_COUNT];
};

/* The questions a plan asks of a kernel. */
struct kernel_facts {
	const void *context;
	bool (*has_function)(const void *context, const char *name);
	bool (*has_code)(const void *context, const char *name);
	int (*tracepoint_args)(const void *context, const char *name); /* -1: none */
	const char *(*fentry_refused)(const void *context);	       /* NULL: it works */
};

const struct hook *hook__get(enum hook_id id);
const char *mechanism_name(enum mechanism m);
/* "fentry", "tracepoint"; MECHANISM_NONE if it is neither. */
enum mechanism mechanism_parse(const char *name);

/*
 * Chooses a way for each hook. forced limits the choice to one mechanism; but
 * fentry only for the hook that times sends, as the others may want a tracepoint. False if sends
 * cannot be timed: the entry's reason says why.
 */
bool plan__resolve(struct plan *plan, const struct kernel_facts *facts, enum mechanism forced,
		   bool zerocopy);

/* The mechanism that times calls. */
enum mechanism plan__tier(const struct plan *plan);

#endif
