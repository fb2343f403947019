// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "options.h"

#include "loadgen/one_line.h"
#include "loadgen/status.h"
#include "loadgen/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPT_JSON = 0x100,
	OPT_REPEAT,
	OPT_TIER,
	OPT_COST,
	OPT_EVENTS,
	OPT_CALL_COUNTERS,
	OPT_VERBOSE
};

const char *argp_program_version = "sendpath " SENDPATH_VERSION;

static const struct argp_option list[] = {
	{NULL, 0, NULL, 0, "Measuring:", 1},
	{"json", OPT_JSON, "FILE", 0, "append a record a run, one line of JSON each (- for stdout)",
	 1},
	{"repeat", OPT_REPEAT, "N", 0, "run everything N times, interleaved (default 1)", 1},
	{"events", OPT_EVENTS, "LIST", 0, "count these events too, by their libpfm4 names", 1},
	{"call-counters", OPT_CALL_COUNTERS, "LIST", 0,
	 "read up to 4 events at both ends of each send", 1},
	{"tier", OPT_TIER, "NAME", 0,
	 "time sends by this mechanism: fentry, kprobe, tracepoint (default: the best there is); "
	 "none: attach nothing",
	 1},
	{"cost", OPT_COST, NULL, 0, "also count what the measuring programs cost", 1},
	{"verbose", OPT_VERBOSE, NULL, 0, "show what libbpf says", 1},
	{0},
};

static error_t refuse(struct argp_state *state, const char *option, const char *value,
		      const char *remedy)
{
	argp_failure(state, STATUS_USAGE, 0, "%s %s: %s", option, value, remedy);
	return EINVAL;
}

static error_t set_repeat(struct options *o, struct argp_state *state, const char *arg)
{
	unsigned long long n;

	if (units__count(arg, &n) || !n || n > REPEAT_MAX)
		return refuse(state, "--repeat", arg, "give a number from 1 to 1000");
	o->repeat = (unsigned int)n;
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		one_line__errors(state);
		state->child_inputs[0] = &o->load;
		o->repeat = 1;
		return 0;
	case OPT_JSON:
		o->json = arg;
		return 0;
	case OPT_REPEAT:
		return set_repeat(o, state, arg);
	case OPT_EVENTS:
		o->events = arg;
		return 0;
	case OPT_CALL_COUNTERS:
		o->call_counters = arg;
		return 0;
	case OPT_TIER:
		o->tier = mechanism_parse(arg);
		return o->tier ? 0
			       : refuse(state, "--tier", arg,
					"give fentry, kprobe, tracepoint or none");
	case OPT_COST:
		o->cost = true;
		return 0;
	case OPT_VERBOSE:
		o->verbose = true;
		return 0;
	case ARGP_KEY_END:
		if (o->tier == MECHANISM_OFF && (o->cost || o->call_counters))
			return refuse(state, o->cost ? "--cost" : "--call-counters",
				      "with --tier none", "nothing is attached; leave one out");
		return 0;
	case ARGP_KEY_ARG:
		return refuse(state, arg, "is no command",
			      "doctor and crosscheck are; --help lists the options");
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {{&load_argp, 0, "The load:", 0}, {0}};

static const struct argp argp = {
	.options = list,
	.parser = parse,
	.args_doc = "\ndoctor [--hooks]\ncrosscheck [OPTION...]",
	.children = children,
	.doc = "Ask the kernel what TCP sends cost, call by call, and whether zero-copy sends were "
	       "copied.\v"
	       "Runs a load (loadgen, a sender and a receiver process on this machine) and reports "
	       "on it. doctor tells what can be measured here; crosscheck compares the counts with "
	       "those of bcc. Needs root: sudo; the load runs as the user who called it.\n"
	       "Exit status: 0 done, 1 failed while running, 2 wrong usage, 3 this system cannot "
	       "measure what was asked.",
};

void options__parse(struct options *o, int argc, char **argv)
{
	memset(o, 0, sizeof(*o));
	if (argc < 2) {
		fprintf(stderr,
			"%s: nothing to measure: try --variant all (--help lists the options)\n",
			program_invocation_short_name);
		exit(STATUS_USAGE);
	}
	argp_err_exit_status = STATUS_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, o);
}
