/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The hooks, and the mechanisms that each can use, as data. plan.h chooses. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum mechanism {
	MECHANISM_NONE,
	MECHANISM_FENTRY,
	MECHANISM_KPROBE,
	MECHANISM_TRACEPOINT,
	MECHANISM_OFF, /* if forced: no hooks at all */
};

/* A hook, and its index in a plan. */
enum hook_id {
	HOOK_SEND,
	HOOK_SEND_OVER,
	HOOK_COMPLETION,
	HOOK_URING,
	HOOK_SKB_COPY,
	HOOK_SKB_SEGMENT,
	HOOK_SKB_PULL,
	HOOK_SKB_DUPLICATE,
	HOOK_SKB_COW,
	HOOK_DEVICE_EXIT,
	HOOK_RECEIVER_COPY,
	HOOK_PACKET,
	HOOK_SEND_ID,
	HOOK_ERROR_QUEUE,
	HOOK_ERROR_READ,
	/* The hooks of --stages, up to the last. */
	HOOK_ENTRY_SENDTO,
	HOOK_ENTRY_SENDMSG,
	HOOK_ENTRY_WRITE,
	HOOK_ENTRY_WRITEV,
	HOOK_STAGE_REQUEST,
	HOOK_STAGE_ALLOC,
	HOOK_STAGE_FRAGMENT,
	HOOK_STAGE_COPY,
	HOOK_STAGE_PIN,
	HOOK_STAGE_TRANSMIT,
	HOOK_STAGE_DEEP_COPY,
	HOOK_STAGE_COMPLETION,
	HOOK_STAGE_WAIT,
	HOOK_SOFTIRQ,
	HOOK_SWITCH,
	HOOK_WAKE_UP,
	HOOK_COPY_OUT,
	HOOK_COUNT
};

struct tracepoint_need {
	const char *name;
	int args; /* the fewest that it must pass */
};

/* One mechanism of a hook, with its programs and limits. */
struct hook_option {
	enum mechanism mechanism;
	const char *span;	     /* what the times of sends cover; NULL: it measures no time */
	const char *completion_span; /* what the times to a completion cover */
	const char *programs[6];     /* in the BPF object, then NULL; a send's beginning is first */
	/* NULL-terminated names of the function in different kernels; any one will do */
	const char *functions[4];
	struct tracepoint_need tracepoints[5]; /* all are needed; ends with a NULL name */
	/* A second function that some kernels have, and its programs. */
	const char *also;
	const char *also_programs[3];
	const char *type;	    /* a struct that the kernel must have, or NULL */
	const char *code;	    /* a function whose address must be known, or NULL */
	const char *misses;	    /* what it may miss, or NULL */
	const char *unseen;	    /* TCP sends that it never sees, or NULL */
	const char *sees_coalesced; /* the program that reads coalesced notifications, or NULL */
	bool preemptible;	    /* its programs run in thread context and can be preempted */
	bool by_graph;		    /* a kprobe made by the function graph tracer */
	bool by_stack;		    /* an older tracepoint without a location: the stack shows it */
	bool with_sends;    /* it is usable only if the send hook attaches its first program */
	bool guesses;	    /* it guesses the id of a send */
	bool by_queue;	    /* it reads notifications in the error queue, which have no bytes */
	bool by_path;	    /* it infers copies from the packet's path, without bytes */
	bool by_report;	    /* it sees only copies that io_uring was requested to report */
	bool counts_at_end; /* it counts a send whose beginning was missed, untimed */
};

#define HOOK_OPTIONS_MAX 6

struct hook {
	const char *name;
	const char *purpose;
	bool zerocopy_only;    /* not used for a load that never requests zero-copy */
	bool stages_only;      /* only for --stages */
	bool packets_only;     /* only for --packets */
	bool observed_only;    /* for sends that no load makes; send tracepoints see them, too */
	const char *load_only; /* why only a load can be measured, or NULL */
	struct hook_option options[HOOK_OPTIONS_MAX]; /* best first; ends with MECHANISM_NONE */
};

const struct hook *hook__get(enum hook_id id);
/* Writes the symbols to which an option may attach: "a or b", "a, b". */
void hook_option__symbols(const struct hook_option *option, char *text, size_t size);
const char *mechanism_name(enum mechanism m);
/*
 * Returns the mechanism of "fentry", "kprobe", "tracepoint" or "none" (MECHANISM_OFF);
 * MECHANISM_NONE if the name is unknown.
 */
enum mechanism mechanism_parse(const char *name);
