/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What tracer.c attaches and collect.c reads. */
#pragma once

#include "bpf/abi.h"
#include "user/trace/profile.h"
#include "user/trace/timeline.h"
#include "user/trace/tracer.h"

#include "sendpath.skel.h"

#define PROGRAMS_MAX 96

struct program_stats {
	__u64 missed[HOOK_COUNT];	 /* skipped runs of the hook's programs */
	bool missed_unknown[HOOK_COUNT]; /* the kernel does not count those of kprobes */
	__u64 missed_begins, missed_ends, missed_coalesced;
	__u64 ns, runs; /* of all of them, where their cost is counted */
};

struct tracer {
	struct sendpath *skel;
	struct plan planned, attached_as; /* a hook may turn out not to attach */
	struct tracer_setup setup;
	struct {
		const char *program; /* the plan's string: outlives us */
		struct bpf_link *link;
	} attached[PROGRAMS_MAX];
	size_t attached_count;
	const struct hook_option *options[HOOK_COUNT]; /* NULL: not attached */
	struct call_counters *call_counters;	       /* NULL: none, or not attached */
	struct profile *profile;		       /* NULL: none, or not attached */
	struct timeline *timeline;		       /* NULL: none */
	int stats_fd;				       /* -1 unless cost is counted */
	struct program_stats opened; /* what the counters said when the gate opened */
};

/* An element of an array has so many parts, one or a CPU's each, so many bytes apart. */
size_t tracer__parts(const struct bpf_map *map);
size_t tracer__stride(const struct bpf_map *map);

/* Attaches what is loaded, as tracer__attach() says, or detaches it. */
int tracer__attach_programs(struct tracer *t, struct plan *plan, char *reason, size_t size);
void tracer__detach_programs(struct tracer *t);

/* The machine's setting, which the programs know as it was when they were loaded. */
__u32 tracer__optmem_max(void);

/* For how many sockets older kernels allocate memory beforehand: of so much, a small part. */
#define SOCKETS_LEAST 256
#define SOCKETS_MOST  4096
#define MEMORY_PART   256

/* How many of this machine's CPUs have sums of stages to themselves. */
unsigned int tracer__stage_shares(unsigned int cpus);
unsigned int tracer__sockets_allocated(unsigned long long memory, size_t socket_bytes);
