// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "options.h"

#include "groups.h"
#include "live.h"

#include "loadgen/help.h"
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
	OPT_INTERVAL,
	OPT_BY,
	OPT_BY_MAX,
	OPT_VERBOSE,
	OPT_PID,
	OPT_COMM,
	OPT_CGROUP,
	OPT_ALL,
};

const char *argp_program_version = "sendpath " SENDPATH_VERSION;

static const struct argp_option list[] = {
	{NULL, 0, NULL, 0, "Programs to observe, instead of a load:", HELP_OBSERVED},
	{"pid", OPT_PID, "LIST", 0, "these processes, all their threads", HELP_OBSERVED},
	{"comm", OPT_COMM, "NAME", 0, "processes of this name", HELP_OBSERVED},
	{"cgroup", OPT_CGROUP, "PATH", 0, "of this control group and those below it",
	 HELP_OBSERVED},
	{"all", OPT_ALL, NULL, 0, "all processes", HELP_OBSERVED},
	{NULL, 0, NULL, 0, "Measuring:", HELP_MEASURING},
	{"json", OPT_JSON, "FILE", 0, "append a record a run, as JSON (- for stdout)",
	 HELP_MEASURING},
	{"by", OPT_BY, "LIST", 0, "tell apart by process, device, port", HELP_MEASURING},
	{"by-max", OPT_BY_MAX, "N", 0, "room for N groups of --by (default 65536)", HELP_DETAILS},
	{"interval", OPT_INTERVAL, "SECONDS", 0, "write a line that often while measuring",
	 HELP_MEASURING},
	{"repeat", OPT_REPEAT, "N", 0, "run everything N times, interleaved (default 1)",
	 HELP_MEASURING},
	{"events", OPT_EVENTS, "LIST", 0, "count these events too, by their libpfm4 names",
	 HELP_MEASURING},
	{"call-counters", OPT_CALL_COUNTERS, "LIST", 0,
	 "read up to 4 events at both ends of each send", HELP_DETAILS},
	{"tier", OPT_TIER, "NAME", 0, "time sends by fentry, kprobe, tracepoint or none",
	 HELP_DETAILS},
	{"cost", OPT_COST, NULL, 0, "also count what the measuring programs cost", HELP_DETAILS},
	{"verbose", OPT_VERBOSE, NULL, 0, "show what libbpf says", HELP_DETAILS},
	{NULL, 0, NULL, 0, "Measuring, in detail:", HELP_DETAILS},
	{0},
};

#define OBSERVING (HELP_BIT(HELP_OBSERVED) | HELP_BIT(HELP_MEASURING))

static const struct help_topic topics[] = {
	{"", HELP_BIT(HELP_LOAD) | OBSERVING | HELP_BIT(HELP_ABOUT), ""},
	HELP_TOPICS_OF_A_LOAD,
	{"measuring", OBSERVING | HELP_BIT(HELP_DETAILS), "What is measured, and how it is told."},
	{"all", ~0u, ""},
	{0},
};

static const struct help help = {
	.topics = topics,
	.options = list,
	.args_doc = "\n-- COMMAND [ARG...]\ndoctor [--hooks]\ncrosscheck [OPTION...]",
	.doc = "Ask the kernel what TCP sends cost, call by call, and whether zero-copy sends were "
	       "copied.\v"
	       "doctor tells what can be measured here. Needs root: sudo.\n"
	       "Exit status: 0 done, 1 failed, 2 wrong usage, 3 this system cannot.",
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

static error_t set_interval(struct options *o, struct argp_state *state, const char *arg)
{
	if (units__duration(arg, &o->interval) || o->interval < LIVE_MIN_S)
		return refuse(state, "--interval", arg, "give seconds, 0.1 or more");
	return 0;
}

static error_t set_by(struct options *o, struct argp_state *state, const char *arg)
{
	const char *why = groups__parse(arg, &o->by);

	return why ? refuse(state, "--by", arg, why) : 0;
}

static error_t set_by_max(struct options *o, struct argp_state *state, const char *arg)
{
	unsigned long long n;

	if (units__count(arg, &n) || !n || n > GROUPS_MAX_MAX)
		return refuse(state, "--by-max", arg, "give a number from 1 to 16777216");
	o->by_max = (unsigned int)n;
	return 0;
}

static error_t refuse_target(struct argp_state *state, const char *option, const char *value,
			     const char *why)
{
	return why ? refuse(state, option, value, why) : 0;
}

/* All that stands after "--". */
static error_t take_command(struct options *o, struct argp_state *state)
{
	char **command = &state->argv[state->next - 1];

	state->next = state->argc;
	return refuse_target(state, "--", command[0], target__set_command(&o->target, command));
}

/* The option, if any, for which something must be attached. */
static const char *needs_hooks(const struct options *o)
{
	if (o->cost)
		return "--cost";
	if (o->by)
		return "--by";
	if (o->interval > 0)
		return "--interval";
	return o->call_counters ? "--call-counters" : NULL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		one_line__errors(state);
		state->child_inputs[0] = &o->load;
		state->child_inputs[1] = (void *)&help;
		o->repeat = 1;
		o->by_max = GROUPS_MAX;
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
	case OPT_INTERVAL:
		return set_interval(o, state, arg);
	case OPT_BY:
		return set_by(o, state, arg);
	case OPT_BY_MAX:
		return set_by_max(o, state, arg);
	case OPT_PID:
		return refuse_target(state, "--pid", arg, target__set_pids(&o->target, arg));
	case OPT_COMM:
		return refuse_target(state, "--comm", arg, target__set_comm(&o->target, arg));
	case OPT_CGROUP:
		return refuse_target(state, "--cgroup", arg, target__set_cgroup(&o->target, arg));
	case OPT_ALL:
		return refuse_target(state, "--all", "and others", target__set_all(&o->target));
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
		if (o->target.given && (o->repeat > 1 || o->load.load_given))
			return refuse(state, "--variant and its like", "with a program to observe",
				      "of a load's options only --duration goes with it");
		if (o->target.given && o->tier == MECHANISM_OFF)
			return refuse(state, "--tier none", "with a program to observe",
				      "nothing would be measured");
		if (o->tier == MECHANISM_OFF && needs_hooks(o))
			return refuse(state, needs_hooks(o), "with --tier none",
				      "nothing is attached; leave one out");
		return 0;
	case ARGP_KEY_ARG:
		if (state->quoted)
			return take_command(o, state);
		return refuse(state, arg, "is no command",
			      "doctor and crosscheck are; --help=all lists the options");
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{&load_argp, 0, NULL, 0}, {&help_argp, 0, NULL, 0}, {0}};

static const struct argp argp = {.options = list, .parser = parse, .children = children};

void options__parse(struct options *o, int argc, char **argv)
{
	memset(o, 0, sizeof(*o));
	if (argc < 2) {
		fprintf(stderr, "%s: nothing to measure: try --variant all (--help tells more)\n",
			program_invocation_short_name);
		exit(STATUS_USAGE);
	}
	argp_err_exit_status = STATUS_USAGE;
	argp_parse(&argp, argc, argv, ARGP_NO_HELP, NULL, o);
}
