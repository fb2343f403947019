/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* State that tracer.c and collect.c share. */
#pragma once

#include "bpf/abi.h"
#include "user/trace/profile.h"
#include "user/trace/timeline.h"
#include "user/trace/tracer.h"

#include "sendpath.skel.h"

#include <stdio.h>

#define PROGRAMS_MAX 96

struct tracer {
	struct sendpath *skel;
	struct plan planned, attached_as; /* a planned hook may not attach */
	struct tracer_setup setup;
	struct {
		const char *program; /* the plan's string, which outlives this */
		struct bpf_link *link;
	} attached[PROGRAMS_MAX];
	size_t attached_count;
	const struct hook_option *options[HOOK_COUNT]; /* NULL: not attached */
	struct call_counters *call_counters;	       /* NULL: none, or not attached */
	struct profile *profile;		       /* NULL: none, or not attached */
	struct timeline *timeline;		       /* NULL: none */
	int stats_fd;				       /* -1 unless cost is counted */
	struct program_stats opened; /* the programs' statistics when the gate opened */
};

/* Sums up an element of a per-CPU map into a value of the map's type. 0 or -errno. */
int tracer__sum(struct tracer *t, const char *map, __u32 index, void *sum);

/*
 * Writes a text, at most so long, in quotes. The kernel lets a name have any bytes: those that are
 * not ASCII are written as Latin 1.
 */
void dump__text(FILE *out, const char *text, size_t size);

/* The parts of an array's element, one or one per CPU, and their distance in bytes. */
size_t tracer__parts(const struct bpf_map *map);
size_t tracer__stride(const struct bpf_map *map);

/* Attaches the loaded programs, as tracer__attach() says, or detaches them. */
int tracer__attach_programs(struct tracer *t, struct plan *plan, struct failure *f);
void tracer__detach_programs(struct tracer *t);

/* The machine's limit, which the programs have as of their loading. */
__u32 tracer__optmem_max(void);

/*
 * The number of sockets for which older kernels preallocate maps: a small part of so much memory.
 */
#define SOCKETS_LEAST 256
#define SOCKETS_MOST  4096
#define MEMORY_PART   256

/* The number of CPUs that have stage sums of their own. */
unsigned int tracer__stage_shares(unsigned int cpus);
unsigned int tracer__sockets_allocated(unsigned long long memory, size_t socket_bytes);
