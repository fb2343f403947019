/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Loads and attaches the kernel programs of a run, sets their gate, and reads their counts. */
#pragma once

#include "user/kernel/features.h"
#include "user/kernel/plan.h"
#include "user/trace/counters.h"
#include "user/trace/groups.h"
#include "user/trace/target.h"
#include "user/trace/window_counts.h"

#include <json-c/json.h>
#include <stdio.h>
#include <sys/types.h>

struct tracer;

#define PROFILE_HZ 997 /* a prime, so that samples do not follow the clock's ticks */

struct tracer_setup {
	const struct features *features;	    /* NULL: no programs are attached */
	const struct counter_events *call_counters; /* read at both ends of a send; NULL: none */
	const struct target *target; /* how targets are recognized; NULL: by tracer__add_target() */
	bool receivers;		     /* group zero-copy sends by receiver, too */
	unsigned int by;	     /* a set of enum group_by */
	__u32 by_max;		     /* the most groups */
	bool stages;		     /* divide the time of sends into stages */
	unsigned int sample;	     /* time and divide one of this many sends */
	unsigned int profile;	     /* samples per second and CPU; 0: none */
	unsigned int timeline;	     /* sends whose events are kept; 0: none */
	__u64 slower_ns;	     /* keep only sends that take longer; 0: the first */
	bool cost;		     /* count the programs' run time, too (needs CAP_SYS_ADMIN) */
};

/*
 * Loads and attaches the programs of the plan. A hook that cannot be attached becomes unavailable
 * in the plan, with the reason; without the send hook, this fails. Returns 0 and *out, or -errno
 * and NULL.
 */
int tracer__attach(struct tracer **out, struct plan *plan, const struct tracer_setup *setup,
		   struct failure *f);

/* Adds a process, as sender or receiver. 0 or -errno. */
int tracer__add_target(struct tracer *t, pid_t tgid, enum role role);

/*
 * Finds the processes that are measured by id, and the living children that the programs followed.
 * Writes as many ids as there is room for. Returns the number of processes.
 */
size_t tracer__targets(struct tracer *t, pid_t *tgids, size_t room);
/* Removes a process whose end the programs did not see. */
void tracer__remove_target(struct tracer *t, pid_t tgid);

/* Counts the skbs of connections with this port, from the end that sends. */
void tracer__set_port(struct tracer *t, unsigned int port, bool sender_listens);

/* Sets the gate, which opens the window, closes it for new sends, or ends it. */
void tracer__gate(struct tracer *t, enum gate gate);
/*
 * Sets the gate, and waits until all programs that may have read the earlier state have ended.
 * Returns 0, or -errno if it cannot wait for this.
 */
int tracer__gate_settled(struct tracer *t, enum gate gate);
/* Returns how many threads are in a send, also if a hook missed their return. 0 if unreadable. */
__u64 tracer__in_sends(struct tracer *t);

/* Returns whether programs may still count anything while the gate is closing. */
bool tracer__may_count(struct tracer *t);

enum counted { TOTALS_AND_CALLS, ALL_COUNTS };

/*
 * Reads the counts, except those of single groups; members that are not requested are 0. While the
 * gate is open, an event may be in one number and not yet in another. 0 or -errno.
 */
int tracer__read(struct tracer *t, struct window_counts *out, enum counted what);
/* Returns the memory of the programs' maps in bytes, by /proc/PID/fdinfo. */
__u64 tracer__map_bytes(const struct tracer *t);
/* Returns the most zero-copy sockets whose sends can be followed at once. */
unsigned int tracer__sockets_most(const struct tracer *t);
/* Calls see() once for each group of --by. 0 or -errno. */
typedef void (*group_visit)(void *context, const struct group_key *key, const struct group *group);
int tracer__each_group(struct tracer *t, group_visit see, void *context);
/* Writes the path of a group's control group (--by cgroup); "" if it is unknown. */
void tracer__group_path(struct tracer *t, const struct group_key *key, char text[CGROUP_TEXT_MAX]);
/* Removes a group to which nothing is added any more, and returns its counts. 0 or -errno. */
int tracer__take_group(struct tracer *t, const struct group_key *key, struct group *out);

/* Reads the samples of a closed window by profile__json(). NULL: there are none. 0 or -errno. */
int tracer__profile(const struct tracer *t, json_object **out);

/* Reads the events of a timeline so far. Returns the ms until the next call, up to most. */
int tracer__read_timeline(struct tracer *t, int most);
/* Returns whether a timeline has all its sends; their completions may follow. */
bool tracer__timeline_is_full(const struct tracer *t);
/* Reads the timeline of a closed window by timeline__json(). NULL: there is none. 0 or -errno. */
int tracer__timeline(struct tracer *t, char **out);

/*
 * Returns the counts as JSON, which the caller frees: an object with a member for each map and
 * variable of the programs, named as in their BTF. An array is {"index": value}, without zeros; a
 * hash is [[key, value], ...]. CPUs are summed up. While the gate is open, an event may be in one
 * number and not yet in another. NULL: not readable, or out of memory.
 */
char *tracer__dump(struct tracer *t, enum counted what);
/*
 * Writes the counts of a group as JSON, as tracer__dump() does: [key, counts, path of its control
 * group]. Members of the key and of the counts that are 0 are left out.
 */
void tracer__write_group(struct tracer *t, const struct group_key *key, const struct group *counts,
			 FILE *out);
/* The counts of all groups for which there was no room. */
const struct group *tracer__groups_rest(const struct tracer *t);

/* Detaches and unloads. t may be NULL. */
void tracer__free(struct tracer *t);
