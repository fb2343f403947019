/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * perf counters of one process and all the threads it will start: opened before
 * the threads are, counting while a window is open.
 */
#pragma once

#include <linux/perf_event.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum counter_status { COUNTER_COUNTED, COUNTER_NOT_SUPPORTED, COUNTER_NOT_COUNTED };

struct counter_value {
	const char *event; /* as perf names it */
	const char *unit;  /* "" for a plain count */
	char pmu[32];	   /* "" for software events */
	enum counter_status status;
	char reason[96]; /* unless counted */
	double value;	 /* scaled by enabled / running where they differ */
	__u64 enabled_ns;
	__u64 running_ns;
};

struct counters;

/* Further events, comma-separated names as libpfm4 knows them; NULL: none. */
struct counter_events;
#define COUNTER_EVENTS_MAX 16
/* 0 and *out; or -EINVAL with the name that is unknown or one too many, and why, in reason. */
int counter_events__parse(struct counter_events **out, const char *list, size_t max, char *reason,
			  size_t size);
void counter_events__free(struct counter_events *e);
size_t counter_events__count(const struct counter_events *e);
const char *counter_events__name(const struct counter_events *e, size_t i);

/*
 * Opens all counters on a process, disabled. What cannot be opened is not an
 * error: it becomes a value with a status. 0 and *out or -ENOMEM.
 */
int counters__open(struct counters **out, pid_t pid, const struct counter_events *more);
/* Starts or stops counting. Of NULL there are no counters. */
void counters__enable(struct counters *c, bool enable);
/* Reads them all; the array lives as long as c. Returns how many. */
size_t counters__read(struct counters *c, const struct counter_value **values);
void counters__free(struct counters *c);

/* The core PMUs: one on most machines, several on a hybrid CPU, none in many virtual ones. */
#define PMUS_MAX 4
struct pmu {
	char name[32];
	__u32 type; /* of perf_event_attr, for the extended hardware type */
};
/* Returns how many were found; usable: whether a cycle counter can be opened on any. */
size_t pmu__list(struct pmu *pmus, bool *usable);

/*
 * Counters that the programs read at both ends of each send: opened on every CPU, because a program
 * can only read those of its own.
 */
struct call_counters;

/*
 * Opens the events on all CPUs and puts them where the programs look: map_fd, a
 * perf event array. 0 and *out; or -errno with the reason in words.
 */
int call_counters__open(struct call_counters **out, const struct counter_events *events, int map_fd,
			char *reason, size_t size);
void call_counters__free(struct call_counters *c);

/*
 * The name of an event that would be 0 whatever happens, NULL if there is none: a send whose
 * thread lost its CPU is left out, because a CPU's counters then count others' work.
 */
const char *call_counters__always_zero(const struct counter_events *events);
