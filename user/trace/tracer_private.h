/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A tracer's parts, and the state that its files share. */
#pragma once

#include "user/trace/tracer.h"

#include "sendpath.skel.h"

#include <stdio.h>

/* Samples all CPUs; the kernel program keeps the samples of measured threads. */
struct profile;

/*
 * Makes the program sample each CPU, hz times per second of its CPU time: by cycles if the machine
 * counts them, otherwise by its clock. 0 and *out; or -errno.
 */
int profile__attach(struct profile **out, const struct bpf_program *program, unsigned int hz,
		    struct failure *f);
/* p may be NULL. */
void profile__detach(struct profile *p);

/*
 * The stacks of the map, with function names, innermost first; lost: samples for which there was no
 * room. NULL: the map cannot be read, or memory is short.
 */
json_object *profile__json(const struct profile *p, const struct bpf_map *stacks, __u64 lost,
			   const struct features *features);

/* What happened to single sends, as the kernel programs say it while the window is open. */
struct timeline;

/* How often it is to be read, so that the ring does not fill up. */
#define TIMELINE_MS 5

/*
 * Of so many sends; slower_ns: of those alone that took longer, of all; 0: of the first. 0 and
 * *out, or -errno.
 */
int timeline__open(struct timeline **out, const struct bpf_map *ring, unsigned int sends,
		   __u64 slower_ns);
/* NULL is fine. */
void timeline__free(struct timeline *t);

/* Forgets what is there: a window is about to open. */
void timeline__clear(struct timeline *t);
/* Takes what came since. False: there are so many slow sends as were asked for. */
bool timeline__read(struct timeline *t);

/* All of it as JSON, to be freed; lost: events without room, of all CPUs. NULL: memory is short. */
char *timeline__json(struct timeline *t, __u64 lost);

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

/* Entries of the maps that older kernels preallocate: see allocate_beforehand(). */
#define SOCKETS_PREALLOCATED 16384
#define SENDS_PREALLOCATED   8192
#define ENTRIES_PREALLOCATED 4096

/* The number of CPUs that have stage sums of their own. */
unsigned int tracer__stage_shares(unsigned int cpus);
