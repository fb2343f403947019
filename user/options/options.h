/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The command line of measuring runs. */
#pragma once

#include "user/kernel/hooks.h"
#include "user/trace/target.h"

#include "loadgen/options/options.h"

#include <stdint.h>

#define REPEAT_MAX 1000

#define COMMAND_MAX 4096

#define SHARDS_MAX 10000

#define TOP_MAX 256

#define ALLOWED_HOSTS_MAX 16

/* What sweep has beside the options of a measuring run. */
struct sweep_options {
	bool given;	  /* the command is sweep */
	const char *grid; /* NULL: none is named */
	const char *out;
	unsigned int shard, shards; /* from 1 */
	uint32_t order;		    /* seed of the order */
	bool order_given;
	bool retry;
};

/* What exporter has beside the options of an observation. */
struct exporter_options {
	bool given;			      /* the command is exporter */
	const char *listen;		      /* "ADDRESS:PORT" */
	const char *names[ALLOWED_HOSTS_MAX]; /* by which it is asked, too */
	size_t name_count;
	const char *textfile; /* a folder; NULL: it listens */
	unsigned int top;     /* names of processes; 0: none */
};

/* What a command line is of. */
enum measuring { MEASURE_RUNS, MEASURE_SWEEP, MEASURE_EXPORTER };

struct options {
	char command[COMMAND_MAX]; /* as a shell takes it; "" where it is longer */
	struct load_options load;
	const char *json;	   /* NULL: no record is written */
	const char *events;	   /* further counters, or NULL */
	const char *call_counters; /* counters to read at both ends of each send, or NULL */
	struct target target;
	struct sweep_options sweep;
	struct exporter_options exporter;
	double wait_quiet_s; /* at most, before each run; 0: not at all */
	double interval; /* seconds between lines, or text files, while a window is open; 0: none */
	unsigned int by; /* a set of enum group_by */
	unsigned int by_max;
	bool stages;
	bool packets;	     /* count those that sends become */
	unsigned int sample; /* time, and divide, one send in so many; 0: all */
	unsigned int repeat; /* 0 while it is not settled */
	enum mechanism tier; /* MECHANISM_NONE: the best there is; MECHANISM_OFF: none */
	bool cost;
	bool memory;
	bool histogram;
	bool verbose;
};

/*
 * Parses, or ends the program: --help with 0, wrong usage with 2 and one line. Of a sweep, one
 * for each part of its grid, which differ in the load alone; else one. To be freed; what they
 * point to is argv's.
 */
struct options *options__parse(int argc, char **argv, enum measuring what, size_t *count);
