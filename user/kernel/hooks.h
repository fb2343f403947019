/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The hooks, and the mechanisms that each can use: data. plan.h chooses. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum mechanism {
	MECHANISM_NONE,
	MECHANISM_FENTRY,
	MECHANISM_KPROBE,
	MECHANISM_TRACEPOINT,
	MECHANISM_OFF, /* as a forced choice: no hooks at all */
};

/* What a hook answers; the index into a plan. */
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
	/* Of --stages, to the last. */
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
	int args; /* at least */
};

/* One mechanism of a hook, with its programs and limits. */
struct hook_option {
	enum mechanism mechanism;
	const char *span;	     /* what a time measured by it covers; NULL: it measures none */
	const char *completion_span; /* and one from the same beginning to a completion */
	const char *programs[6];     /* NULL-terminated names in the BPF object; of a send, the one
					that sees it begin comes first */
	/* NULL-terminated: names that kernels gave the function to attach to; any will do. */
	const char *functions[4];
	struct tracepoint_need tracepoints[5]; /* ends with a NULL name; needs them all */
	/* A second function that sends pass on some kernels, and its programs. */
	const char *also;
	const char *also_programs[3];
	const char *type;	    /* a struct that the kernel must have, or NULL */
	const char *code;	    /* a function whose address must be known, or NULL */
	const char *misses;	    /* what it could miss, or NULL */
	const char *unseen;	    /* sends by TCP that it never sees, or NULL */
	const char *sees_coalesced; /* the program that looks at coalesced notifications, or NULL */
	bool preemptible;	    /* its programs run in thread context, and can be preempted */
	bool by_graph;		    /* a kprobe that the function graph tracer makes */
	bool by_stack;		    /* an older tracepoint without a location: the stack has it */
	bool with_sends;    /* its programs are the send hook's own: usable where that uses them */
	bool guesses;	    /* guesses the id that a send gets */
	bool by_queue;	    /* looks at notifications in the error queue: knows no bytes */
	bool by_reference;  /* counts what references leave that go before a completion */
	bool by_path;	    /* infers copies from the packet's path: knows no bytes */
	bool by_report;	    /* knows only the copies that io_uring was asked to report */
	bool counts_at_end; /* a send whose beginning was not seen is counted, untimed */
};

#define HOOK_OPTIONS_MAX 6

struct hook {
	const char *name;
	const char *purpose;
	bool zerocopy_only;    /* of no use to a load that never asks for zero-copy */
	bool stages_only;      /* for --stages alone, */
	bool packets_only;     /* and for --packets */
	bool observed_only;    /* for what our own load does not do, and beside functions
				  only: the tracepoints of sends see it */
	const char *load_only; /* NULL; or why only our own load can be measured */
	struct hook_option options[HOOK_OPTIONS_MAX]; /* best first; ends with MECHANISM_NONE */
};

const struct hook *hook__get(enum hook_id id);
/* The symbols that an option may attach to: "a or b", "a, b". */
void hook_option__symbols(const struct hook_option *option, char *text, size_t size);
const char *mechanism_name(enum mechanism m);
/* "fentry", "kprobe", "tracepoint", "none" for MECHANISM_OFF; MECHANISM_NONE if it is no name. */
enum mechanism mechanism_parse(const char *name);
