/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts perf events of a process and all threads that it starts later, while a window is open.
 */
#pragma once

#include "common/program.h"

#include <json-c/json.h>
#include <linux/perf_event.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Calls perf_event_open(2), with close-on-exec. */
int counters__open_event(struct perf_event_attr *attr, pid_t pid, int cpu, int leader);

struct counters;

/* Additional events, comma-separated names of libpfm4; NULL: none. */
struct counter_events;
#define COUNTER_EVENTS_MAX 16
/* Parses the value of an option. 0 or -EINVAL; *out must be freed in both cases. */
int counter_events__parse(struct counter_events **out, const char *option, const char *list,
			  size_t max, struct failure *f);
void counter_events__free(struct counter_events *e);
size_t counter_events__count(const struct counter_events *e);
/* Returns the events' names as a list; e may be NULL here and above. */
json_object *counter_events__json(const struct counter_events *e);

/*
 * Opens all counters of a process, without counting yet. A counter that cannot be opened is no
 * error: its value has a status. Returns 0 and *out, or -ENOMEM.
 */
int counters__open(struct counters **out, pid_t pid, const struct counter_events *more);
/* Starts or stops counting. c may be NULL here and below. */
void counters__enable(struct counters *c, bool enable);
void counters__read(struct counters *c);
/* Adds the read values to a list. scope: "sender", "receiver" or "command". */
void counters__add_json(const struct counters *c, const char *scope, json_object *list);
void counters__free(struct counters *c);

/* The core PMUs: one on most machines, several on a hybrid CPU, none in many virtual machines. */
#define PMUS_MAX 4
struct pmu {
	char name[32];
	__u32 type; /* as in perf_event_attr */
};
/* Returns the number of core PMUs; usable: whether one of them can count cycles. */
size_t pmu__list(struct pmu *pmus, bool *usable);

/*
 * Counters that programs read at both ends of each send. They are opened on every CPU, because a
 * program can read only the counters of its own CPU.
 */
struct call_counters;

/*
 * Opens the events on all CPUs and stores them in the perf event array map_fd, where programs read
 * them. 0 and *out; or -errno.
 */
int call_counters__open(struct call_counters **out, const struct counter_events *events, int map_fd,
			struct failure *f);
void call_counters__free(struct call_counters *c);

/*
 * Returns the name of an event that would always be 0, or NULL. It would be 0 because sends whose
 * thread lost its CPU are left out: the CPU's counters then count other threads.
 */
const char *call_counters__always_zero(const struct counter_events *events);
