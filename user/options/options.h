/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The command line of measuring runs. */
#pragma once

#include "user/kernel/hooks.h"
#include "user/trace/target.h"

#include "loadgen/options/help.h"
#include "loadgen/options/options.h"

#include "tables.h"

#include <json-c/json.h>
#include <stdint.h>

enum { OPTION_NUMBERS };

#define REPEAT_MAX 1000

#define TOP_MAX 256

#define ALLOWED_HOSTS_MAX 16

/* What sweep has beside the options of a measuring run, as given: the front reads them. */
struct sweep_options {
	bool given; /* the command is sweep */
	SWEEP_MEMBERS
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
enum measuring { MEASURE_RUNS, MEASURE_SWEEP, MEASURE_TIMELINE, MEASURE_EXPORTER };

struct options {
	struct load_options load;
	OPTION_MEMBERS /* of the rows of analysis/tables/options.py; NULL or 0: not given */
		struct target target;
	struct sweep_options sweep;
	struct exporter_options exporter;
	bool timeline;	      /* the command is timeline; --out is a file then */
	double slower_than_s; /* 0: not given */
	double total_s;	      /* of all windows of a configuration; 0: not given */
	double wait_quiet_s;  /* at most, before each run; 0: not at all */
	double interval; /* seconds between lines, or text files, while a window is open; 0: none */
	unsigned int by; /* a set of enum group_by */
	enum mechanism mechanism; /* MECHANISM_NONE: the best there is; MECHANISM_OFF: none */
};

/*
 * Parses, or ends the program: --help with 0, wrong usage with 2 and one line. Of a sweep, one
 * for each part of its grid, which differ in the load alone; else one. To be freed; what they
 * point to is argv's.
 */
struct options *options__parse(int argc, char **argv, enum measuring what, size_t *count);

/* What the front knows of the options. */
json_object *options__json(const struct options *o);

/* The same of advise: a load to see whether sends are copied, those to compare, a program. */
struct options *options__parse_advise(int argc, char **argv, size_t *count);

/* The rest is between the files of this folder, and for tests. */
extern const struct argp_option options_list[];
const char *options__name(int key);
/* Of the program, of "sweep", of "timeline" and of "exporter". */
extern const struct help options_help, options_help_sweep, options_help_timeline,
	options_help_exporter;
/* Takes one of the options of exporter. What is wrong ends the program. */
void options__take_exporter(struct options *o, int key, const char *value,
			    struct argp_state *state);
/* Is all there that it needs, and nothing else? Sets defaults. */
void options__check_exporter(struct options *o, struct argp_state *state);
