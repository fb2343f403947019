/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel programs of one run: loaded, attached, gated, read. */
#pragma once

#include "user/kernel/features.h"
#include "user/kernel/plan.h"
#include "user/trace/counters.h"
#include "user/trace/target.h"
#include "user/trace/window_counts.h"

#include <json-c/json.h>
#include <sys/types.h>

struct tracer;

#define PROFILE_HZ 997 /* apart from what happens at each tick of a clock */

struct tracer_setup {
	const struct features *features;	    /* NULL: nothing is attached */
	const struct counter_events *call_counters; /* read at both ends of a send; NULL: none */
	const struct target *target; /* how targets are known; NULL: tracer__add_target says them */
	unsigned int by;	     /* a set of enum group_by */
	__u32 by_max;		     /* room for so many groups */
	bool stages;		     /* divide sends into their stages */
	unsigned int sample;	     /* time, and divide, one send in so many */
	unsigned int profile;	     /* sample CPUs so many times a second; 0: do not */
	unsigned int timeline;	     /* take the events of so many sends; 0: do not */
	__u64 slower_ns;	     /* of those alone that took longer; 0: of the first */
	bool cost; /* have the kernel count the programs' run time (needs CAP_SYS_ADMIN) */
};

/*
 * Loads and attaches what the plan says. A hook that cannot be attached becomes
 * unavailable in the plan, with the reason; without the send hook this fails.
 * Returns 0 and *out, or -errno with the reason in words, and NULL.
 */
int tracer__attach(struct tracer **out, struct plan *plan, const struct tracer_setup *setup,
		   char *reason, size_t size);

/* Measure this process, as sender or receiver. 0 or -errno. */
int tracer__add_target(struct tracer *t, pid_t tgid, enum role role);

/*
 * The processes that are measured by their ids, with the children that the programs followed,
 * and live: how many, and the ids of as many as there is room for.
 */
size_t tracer__targets(struct tracer *t, pid_t *tgids, size_t room);
/* Measure this process no longer: its end was not seen. */
void tracer__remove_target(struct tracer *t, pid_t tgid);

/* Counts skbs of connections to this port, of the end that sends. */
void tracer__set_port(struct tracer *t, unsigned int port, bool sender_listens);

/* Opens the window, has it wait for sends that began in it, or closes it. */
void tracer__gate(struct tracer *t, enum gate gate);
/*
 * The same; returns when no program runs that saw the gate as it was. 0; or -errno, if that cannot
 * be told.
 */
int tracer__gate_settled(struct tracer *t, enum gate gate);
/* Threads that are in a send, or that a lossy hook did not see leave it. 0 if unreadable. */
__u64 tracer__in_sends(struct tracer *t);

/* While the gate is closing: is there anything under way that may still be counted? */
bool tracer__may_count(struct tracer *t);

/* Reads calls and totals while they are being counted; all else is 0. 0 or -errno. */
int tracer__peek(struct tracer *t, struct window_counts *out);

/*
 * Reads everything but the groups, of which only the rest. While the gate is open, what is being
 * counted may be in one figure and not yet in another. 0 or -errno.
 */
int tracer__read(struct tracer *t, struct window_counts *out);
/* Has each group of --by seen, as it stands. 0 or -errno, also of see. */
int tracer__each_group(struct tracer *t, group_visit see, void *context);
/* Removes a group that nothing adds to any more, with what was counted last. 0 or -errno. */
int tracer__take_group(struct tracer *t, const struct group_key *key, struct group *out);
/* Removes the peers of zero-copy sends: in a window without end there would be too many. */
void tracer__forget_peers(struct tracer *t);

/* The samples of a closed window, as profile__json() says; NULL without. 0 or -errno. */
int tracer__profile(const struct tracer *t, json_object **out);

/* Takes what came of a timeline. Returns in how many ms to call it again, at most so many. */
int tracer__read_timeline(struct tracer *t, int most);
/* That of a closed window, as timeline__json() says; NULL without. 0 or -errno. */
int tracer__timeline(struct tracer *t, char **out);

/* Detaches and unloads. NULL is fine. */
void tracer__free(struct tracer *t);
