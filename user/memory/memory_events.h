/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The counters of the memory system, as data: events of the uncore by the names that drivers give
 * them in sysfs, or perf in its own lists.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define MEMORY_LINE 64 /* bytes that a memory controller moves at once */

enum memory_quantity {
	MEMORY_READ,	 /* bytes read from memory */
	MEMORY_WRITE,	 /* bytes written to memory */
	MEMORY_BOTH,	 /* bytes of either */
	IO_READ_MISSES,	 /* lines that devices read and the LLC did not have */
	IO_WRITE_MISSES, /* whole lines that devices wrote and it did not have */
	IO_OWN_MISSES,	 /* lines that it had to read because devices wrote a part of them */
	IO_IN,		 /* bytes that devices moved to this machine */
	IO_OUT,		 /* and from it */
	MEMORY_QUANTITIES,
};

/* Sources of one kind count the same: the first that exists is used. */
enum memory_kind { KIND_MEMORY, KIND_IO_MISSES, KIND_IO_BYTES, MEMORY_KINDS };

struct memory_event {
	enum memory_quantity quantity;
	const char *pmu;  /* the device's name without its number; NULL: a name of perf's own */
	const char *name; /* of the event */
	double bytes;	  /* of one count; 0: the driver or perf scales it, and names the unit */
};

#define SOURCE_EVENTS 8

struct memory_source {
	enum memory_kind kind;
	const char *name; /* for people and for the record */
	bool estimate;
	/* The source is there if its first event is; ends with one that has no name. */
	struct memory_event events[SOURCE_EVENTS + 1];
};

extern const struct memory_source memory_sources[];
extern const size_t memory_source_count;

/* The kind of source that counts it. */
enum memory_kind memory_quantity_kind(enum memory_quantity q);

/* "read", "io_read_misses", ... */
const char *memory_quantity_name(enum memory_quantity q);
