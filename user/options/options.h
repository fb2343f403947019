/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parses the command line of the commands that measure. */
#pragma once

#include "user/kernel/hooks.h"
#include "user/trace/target.h"

#include "loadgen/options/help.h"
#include "loadgen/options/options.h"

#include "tables.h"

#include <json-c/json.h>

enum { OPTION_NUMBERS };

#define REPEAT_MAX 1000

#define TOP_MAX 256

#define COUNT_MAX 1000000000

#define ALLOWED_HOSTS_MAX 16

/* The exporter's own options. */
struct exporter_options {
	const char *listen;		      /* "ADDRESS:PORT" */
	const char *names[ALLOWED_HOSTS_MAX]; /* additional host names that requests may have */
	size_t name_count;
	const char *textfile; /* a folder; NULL: the exporter listens */
};

/* The command. */
enum measuring { MEASURE_RUNS, MEASURE_SWEEP, MEASURE_TIMELINE, MEASURE_TOP, MEASURE_EXPORTER };

struct options {
	enum measuring what;
	struct load_options load;
	OPTION_MEMBERS /* from analysis/tables/options.py; NULL or 0: not given */
		struct target target;
	struct exporter_options exporter;
	unsigned int by;	  /* a set of enum group_by */
	bool decides;		  /* the repeats are the default, enough to decide comparisons */
	enum mechanism mechanism; /* MECHANISM_NONE: the best available; MECHANISM_OFF: no hooks */
};

/*
 * Parses the command line or ends the program: --help with status 0, wrong usage with 2 and one
 * line. A sweep gets one struct for each part of its grid; the parts differ only in their loads.
 * Other commands get one struct. The caller frees them; their strings are argv's.
 */
struct options *options__parse(int argc, char **argv, enum measuring what, size_t *count);

/* Returns the options as JSON for the front. */
json_object *options__json(const struct options *o);

/* Parses advise: a load that shows whether sends are copied, loads to compare, and a program. */
struct options *options__parse_advise(int argc, char **argv, size_t *count);

/* The rest is private to this folder and tests. */
extern const struct argp_option options_list[];
extern const struct help options_help[]; /* of each command */
/* Checks, after the last option, that the options can be combined. */
error_t options__check(const struct options *o, struct argp_state *state);
