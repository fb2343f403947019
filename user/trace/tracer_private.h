/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What tracer.c attaches and collect.c reads. */
#pragma once

#include "user/kernel/programs.h"
#include "user/trace/tracer.h"

#define PROGRAMS_MAX 96

struct program_stats {
	__u64 missed[HOOK_COUNT];	 /* skipped runs of the hook's programs */
	bool missed_unknown[HOOK_COUNT]; /* the kernel does not count those of kprobes */
	__u64 missed_begins, missed_ends, missed_coalesced;
	__u64 ns, runs; /* of all of them, where their cost is counted */
};

struct tracer {
	struct sendpath *skel;
	struct {
		const char *program; /* the plan's string: outlives us */
		struct bpf_link *link;
	} attached[PROGRAMS_MAX];
	size_t attached_count;
	const struct hook_option *options[HOOK_COUNT]; /* NULL: not attached */
	struct call_counters *call_counters;	       /* NULL: none */
	int stats_fd;				       /* -1 unless cost is counted */
	struct program_stats opened; /* what the counters said when the gate opened */
};

/* For how many sockets older kernels allocate memory beforehand: of so much, a small part. */
#define SOCKETS_LEAST 256
#define SOCKETS_MOST  4096
#define MEMORY_PART   256

unsigned int tracer__sockets_allocated(unsigned long long memory, size_t socket_bytes);
