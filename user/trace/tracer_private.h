/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of a tracer, and the state that its files share. */
#pragma once

#include "user/trace/tracer.h"

#include "sendpath.skel.h"

#include <stdio.h>

/* Samples all CPUs; the kernel program keeps the samples of measured threads. */
struct profile;

/*
 * Runs the program on each CPU, hz times per second of CPU time: by cycles if the machine counts
 * them, otherwise by the CPU's clock. Returns 0 and *out, or -errno.
 */
int profile__attach(struct profile **out, const struct bpf_program *program, unsigned int hz,
		    struct failure *f);
/* Ends sampling. p may be NULL. */
void profile__detach(struct profile *p);

/*
 * Returns the stacks of the map, with function names, innermost first. lost: the number of samples
 * without room. NULL: the map cannot be read, or out of memory.
 */
json_object *profile__json(const struct profile *p, const struct bpf_map *stacks, __u64 lost,
			   const struct features *features);

/* The events of single sends, which kernel programs report while the window is open. */
struct timeline;

/* The longest time between two readings, so that the ring does not fill up. */
#define TIMELINE_MS 5

/*
 * Opens a timeline of the first `sends` sends or, unless slower_ns is 0, of the first that took
 * longer than this. Returns 0 and *out, or -errno.
 */
int timeline__open(struct timeline **out, const struct bpf_map *ring, unsigned int sends,
		   __u64 slower_ns);
/* Frees a timeline. t may be NULL. */
void timeline__free(struct timeline *t);

/* Removes all events, before a window opens. */
void timeline__clear(struct timeline *t);
/* Reads the events since the last call. Returns false when enough slow sends were seen. */
bool timeline__read(struct timeline *t);

/* Returns the events as JSON, to be freed. lost: how many had no room. NULL: out of memory. */
char *timeline__json(struct timeline *t, __u64 lost);

#define PROGRAMS_MAX 96

struct tracer {
	struct sendpath *skel;
	struct plan planned, attached_as; /* planned hooks may fail to attach */
	struct tracer_setup setup;
	struct {
		const char *program; /* the plan's string, which outlives the tracer */
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
 * Writes a text of at most size bytes in quotes. Names in the kernel may have any bytes; bytes that
 * are not ASCII are written as characters of Latin 1.
 */
void dump__text(FILE *out, const char *text, size_t size);

/* Return how many parts an array's element has (one, or one per CPU); and how many bytes apart. */
size_t tracer__parts(const struct bpf_map *map);
size_t tracer__stride(const struct bpf_map *map);

/* Attach the loaded programs, as tracer__attach() does; or detach them. */
int tracer__attach_programs(struct tracer *t, struct plan *plan, struct failure *f);
void tracer__detach_programs(struct tracer *t);

/* Returns the machine's limit of optmem. Loaded programs have the value as of their loading. */
__u32 tracer__optmem_max(void);

/* Entries of the maps that older kernels preallocate: see allocate_beforehand(). */
#define SOCKETS_PREALLOCATED 16384
#define SENDS_PREALLOCATED   8192
#define ENTRIES_PREALLOCATED 4096

/* Returns the number of CPUs with stage sums of their own. */
unsigned int tracer__stage_shares(unsigned int cpus);
