/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From the names that a machine has to events, and from perf's answer to bytes. Pure. */
#pragma once

#include "user/memory/memory_events.h"

#define MEMORY_EVENTS_MAX (MEMORY_KINDS * SOURCE_EVENTS)
#define MEMORY_NAME	  80

/* Is a device of so many letters one of this PMU's, "uncore_imc" or "uncore_imc_7"? */
bool memory__is_box(const char *device, size_t length, const char *pmu, size_t pmu_length);

/* Is there such a device with such an event; or, of no device, such a name of perf's? */
typedef bool (*memory_has)(const void *context, const char *pmu, const char *event);

struct memory_choice {
	const struct memory_source *sources[MEMORY_KINDS]; /* NULL: there is none */
	size_t count;
	struct memory_asked {
		const struct memory_event *event;
		char name[MEMORY_NAME]; /* as in perf's -e */
	} events[MEMORY_EVENTS_MAX];
};

/* The first source of each kind that the machine has. */
void memory__choose(struct memory_choice *c, memory_has has, const void *context);

enum memory_status { MEMORY_ABSENT, MEMORY_COUNTED, MEMORY_NOT_SUPPORTED, MEMORY_NOT_COUNTED };

struct memory_count {
	enum memory_status status;
	double value;	/* as perf gave it, of all boxes together */
	char unit[16];	/* "" for a plain count */
	double bytes;	/* of that; meaningless if the unit is unknown, then not counted */
	double running; /* least share of the time that it was counted, 0 to 1 */
};

struct memory_counts {
	struct memory_count events[MEMORY_EVENTS_MAX]; /* as those of the choice */
};

/*
 * Takes what "perf stat -x;" wrote. Lines that are about none of the events are
 * passed over; an event without a line stays absent.
 */
void memory__parse(struct memory_counts *counts, const struct memory_choice *c, const char *text);
