// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/options/options.h"

#include "user/run/interval_printer.h"
#include "user/trace/groups.h"
#include "user/trace/tracer.h"

#include "common/json.h"
#include "common/program.h"
#include "common/units.h"

#include <stdlib.h>
#include <string.h>

const char *argp_program_version = "sendpath " SENDPATH_VERSION;

#define REPEATS_MIN	   6 /* can decide one comparison: docs/statistics.md */
#define REPEATS_SPARE	   2
#define WRONG_MOST	   0.05
#define SAMPLE_MAX	   1000000
#define PROFILE_MAX	   100000
#define TIMELINE_SENDS_MAX 10000
#define TIMELINE_SENDS	   200
#define TIMELINE_S	   1  /* seconds of a window, without --duration */
#define TOP_DEFAULT	   32 /* process names that the exporter shows */

/* Prints a usage error and ends the program. */
static error_t refuse(struct argp_state *state, const char *option, const char *value,
		      const char *remedy)
{
	return program__refuse(state, "%s %s: %s", option, value, remedy);
}

static error_t set_number(struct argp_state *state, int key, const char *arg, unsigned int most,
			  unsigned int *number)
{
	unsigned long long n;

	if (units__count(arg, &n) || !n || n > most)
		return program__refuse(state, "--%s %s: give a number from 1 to %u",
				       options__name(key), arg, most);
	*number = (unsigned int)n;
	return 0;
}

#define GRID_PARTS 2
#define GRID_WORDS 8

/* A named grid: each part has options of a load, as on a command line. */
static const struct grid {
	const char *name;
	size_t count; /* number of parts */
	const char *parts[GRID_PARTS][GRID_WORDS];
} grids[] = {GRID_ROWS};

/* NULL: no grid has this name. */
static const struct grid *find_grid(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(grids) / sizeof(grids[0]); i++)
		if (!strcmp(grids[i].name, name))
			return &grids[i];
	return NULL;
}

/* Options that need no code of their own. */
static const struct value {
	int key;
	const char *name; /* its name for the front */
	enum { VALUE_FLAG, VALUE_TEXT, VALUE_NUMBER } kind;
	size_t offset; /* in struct options */
	unsigned int most;
} values[] = {OPTION_VALUES};
#define VALUES (sizeof(values) / sizeof(values[0]))

json_object *options__json(const struct options *o)
{
	json_object *all = json_object_new_object();
	const struct value *v;
	const void *member;

	for (v = values; v < values + VALUES; v++) {
		member = (const char *)o + v->offset;
		if (v->kind == VALUE_TEXT)
			json__add_string(all, v->name, *(const char *const *)member);
		else if (v->kind == VALUE_FLAG)
			json__add_truth(all, v->name, *(const bool *)member);
		else
			json__add_count(all, v->name, *(const unsigned int *)member);
	}
	json__add_string(all, "tier", o->mechanism ? mechanism_name(o->mechanism) : NULL);
	json__add_count(all, "by", o->by);
	json__add_truth(all, "timeline", o->timeline);
	return all;
}

static error_t set_value(struct options *o, int key, const char *arg, struct argp_state *state)
{
	void *member;
	size_t i;

	for (i = 0; i < VALUES; i++) {
		member = (char *)o + values[i].offset;
		if (values[i].key != key)
			continue;
		if (values[i].kind == VALUE_NUMBER)
			return set_number(state, key, arg, values[i].most, member);
		if (values[i].kind == VALUE_FLAG)
			*(bool *)member = true;
		else
			*(const char **)member = arg;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static error_t refuse_if(struct argp_state *state, const char *option, const char *value,
			 const char *why)
{
	return why ? refuse(state, option, value, why) : 0;
}

/* Takes all words after "--" as the command. */
static error_t take_command(struct options *o, struct argp_state *state)
{
	char **command = &state->argv[state->next - 1];

	state->next = state->argc;
	return refuse_if(state, "--", command[0], target__set_command(&o->target, command));
}

/* An option that needs attached programs, or NULL. */
static const char *needs_hooks(const struct options *o)
{
	if (o->cost)
		return "--cost";
	if (o->by)
		return "--by";
	if (o->interval > 0)
		return "--interval";
	if (o->stages)
		return "--stages";
	if (o->timeline)
		return "timeline";
	if (o->sample)
		return "--sample";
	if (o->packets)
		return "--packets";
	if (o->profile)
		return "--profile";
	return o->call_counters ? "--call-counters" : NULL;
}

/* What cannot be combined with --raw, or NULL. */
static const char *not_of_raw(const struct options *o)
{
	return o->sweep.given	   ? "with sweep"
	       : o->exporter.given ? "with exporter"
	       : o->json	   ? "with --json"
	       : o->interval > 0   ? "with --interval"
				   : NULL;
}

/* What sets the duration of windows instead of --total, or NULL. */
static const char *not_of_total(const struct options *o)
{
	return o->target.given || o->exporter.given	   ? "with a program to observe"
	       : load_options__given(&o->load, "duration") ? "with --duration"
	       : o->load.load.messages			   ? "with --messages"
							   : NULL;
}

static const struct help *help_of(const struct options *o)
{
	return o->sweep.given	   ? &options_help_sweep
	       : o->timeline	   ? &options_help_timeline
	       : o->exporter.given ? &options_help_exporter
				   : &options_help;
}

/* Checks that the options of a timeline go together. */
static void check_timeline(const struct options *o, struct argp_state *state)
{
	const char *end = o->out ? strrchr(o->out, '.') : NULL;

	if (o->raw && o->out)
		program__refuse(state,
				"--raw with --out: it prints raw lines alone; leave one out");
	if (o->out && (!end || (strcmp(end, ".json") && strcmp(end, ".pftrace"))))
		program__refuse(state, "--out %s: give a name that ends in .pftrace or .json",
				o->out);
}

/* Checks that the sweep has all that it needs, and nothing else. */
static void check_sweep(const struct options *o, struct argp_state *state)
{
	const char *grid = o->sweep.grid;

	if (grid && !find_grid(grid))
		program__refuse(state, "--grid %s: unknown; there are " GRID_NAMES, grid);
	if (!o->out || !o->out[0])
		program__refuse(state, o->out ? "--out: give the name of a folder"
					      : "--out is missing: name a folder for the "
						"records of the sweep");
	if (o->target.given)
		program__refuse(state, "sweep runs loads: leave out the program to observe");
	if (o->json)
		program__refuse(state, "--json %s: a sweep writes its records to --out", o->json);
	if (o->interval > 0)
		program__refuse(state, "--interval: a sweep shows its own progress, leave it out");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->load;
		state->child_inputs[1] = (void *)help_of(o);
		o->by_max = GROUPS_MAX;
		o->sends = TIMELINE_SENDS;
		o->exporter.top = TOP_DEFAULT;
		return 0;
	case OPT_TOTAL:
		if (units__duration(arg, &o->total_s) || o->total_s <= 0 || o->total_s > 1e6)
			return refuse(state, "--total", arg, "give seconds, above 0");
		return 0;
	case OPT_INTERVAL:
		if (units__duration(arg, &o->interval) || o->interval < LIVE_MIN_S)
			return refuse(state, "--interval", arg, "give seconds, 0.1 or more");
		return 0;
	case OPT_BY:
		return refuse_if(state, "--by", arg, groups__parse(arg, &o->by));
	case OPT_PID:
		return refuse_if(state, "--pid", arg, target__set_pids(&o->target, arg));
	case OPT_COMM:
		return refuse_if(state, "--comm", arg, target__set_comm(&o->target, arg));
	case OPT_CGROUP:
		return refuse_if(state, "--cgroup", arg, target__set_cgroup(&o->target, arg));
	case OPT_ALL:
		return refuse_if(state, "--all", "and others", target__set_all(&o->target));
	case OPT_MECHANISM:
		o->mechanism = mechanism_parse(arg);
		return o->mechanism ? 0
				    : refuse(state, "--mechanism", arg,
					     "give fentry, kprobe, tracepoint or none");
	case OPT_PROFILE:
		if (arg)
			return set_value(o, key, arg, state);
		o->profile = PROFILE_HZ;
		return 0;
	case OPT_SENDS ... OPT_SLOWER_THAN:
		if (!o->timeline)
			program__refuse(state, "--%s: belongs to timeline: analyze timeline",
					options__name(key));
		if (key == OPT_SENDS)
			return set_value(o, key, arg, state);
		if (units__duration(arg, &o->slower_than_s) || o->slower_than_s <= 0)
			return refuse(state, "--slower-than", arg, "give a time above 0, as 1ms");
		return 0;
	case OPT_OUT ... OPT_BUDGET:
		if (key == OPT_OUT && o->timeline)
			return set_value(o, key, arg, state);
		if (!o->sweep.given)
			program__refuse(state, "--%s: belongs to sweep: analyze sweep --out DIR",
					options__name(key));
		return set_value(o, key, arg, state);
	case OPT_LISTEN ... OPT_TOP:
		options__take_exporter(o, key, arg, state);
		return 0;
	case OPT_WAIT_QUIET:
		if (units__duration(arg ? arg : "60", &o->wait_quiet_s) || o->wait_quiet_s <= 0)
			return refuse(state, "--wait-quiet", arg, "give seconds, above 0");
		return 0;
	case ARGP_KEY_END:
		if (o->sweep.given)
			check_sweep(o, state);
		if (o->timeline)
			check_timeline(o, state);
		if (o->exporter.given)
			options__check_exporter(o, state);
		if (o->target.given && (o->repeat > 1 || o->load.load_given))
			return refuse(state, "--variant or another option of a load",
				      "with a program to observe",
				      "only --duration applies to both; leave the others out");
		if (o->total_s > 0 && not_of_total(o))
			return refuse(state, "--total", not_of_total(o), "give one of them");
		if (o->target.given && o->mechanism == MECHANISM_OFF)
			return refuse(state, "--mechanism none", "with a program to observe",
				      "nothing would be measured");
		if (o->target.given && o->memory)
			return refuse(state, "--memory", "with a program to observe",
				      "it needs a load; leave one out");
		if (o->raw && not_of_raw(o))
			return refuse(state, "--raw", not_of_raw(o),
				      "it prints only raw lines; leave one out");
		if (o->folded && (!o->profile || o->raw || o->sweep.given))
			return refuse(state, "--folded", o->folded,
				      "it needs --profile, without --raw and sweep");
		if (o->mechanism == MECHANISM_OFF && needs_hooks(o))
			return refuse(state, needs_hooks(o), "with --mechanism none",
				      "nothing is attached; leave one out");
		return 0;
	case ARGP_KEY_ARG:
		if (state->quoted)
			return take_command(o, state);
		return refuse(state, arg, "is no command", "put -- before a program to observe");
	default:
		return set_value(o, key, arg, state);
	}
}

static const struct argp_child children[] = {
	{&load_argp, 0, NULL, 0}, {&help_argp, 0, NULL, 0}, {0}};

static const struct argp argp = {
	.options = options_list, .parser = parse_option, .children = children};

/*
 * The fewest repeats that can decide each comparison of a row, with Holm's correction, and some
 * more: with the fewest, one run that differs from the others leaves all undecided.
 */
static unsigned int repeats_of_family(const struct load_options *o)
{
	size_t family = o->load.workload == WORKLOAD_PROCINFO ? o->connections.count
			: o->sizes.count > 1		      ? o->sizes.count
							      : o->threads.count;
	unsigned int repeats = REPEATS_MIN;

	while (2.0 / (double)(1ULL << repeats) > WRONG_MOST / (double)(family ? family : 1))
		repeats++;
	return repeats + REPEATS_SPARE;
}

/*
 * Without --repeat, several configurations run as often as deciding their comparisons takes, and
 * share a total time unless the duration of a window is given. A single configuration has no
 * comparison and runs once.
 */
static void settle_repeats(struct options *o)
{
	bool repeated = o->repeat;
	bool compared = !o->target.given && load_options__cells(&o->load) > 1 &&
			!(o->interval > 0) && !o->load.load.messages && !o->timeline;

	if (o->timeline && !load_options__given(&o->load, "duration") && !(o->total_s > 0))
		o->load.load.duration_s = TIMELINE_S;
	o->decides = compared && !repeated && !o->sweep.given;
	if (!repeated)
		o->repeat = compared || o->sweep.given ? repeats_of_family(&o->load) : 1;
	if (o->total_s > 0)
		o->load.load.duration_s = o->total_s / o->repeat;
	else if (o->decides && !load_options__given(&o->load, "duration"))
		o->load.load.duration_s /= o->repeat;
}

static void parse_words(struct options *o, int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[argc - 1], "--")) {
		program__complain("--: name the command to observe after it");
		exit(STATUS_USAGE);
	}
	help__check_options(help_of(o), argc, argv);
	argp_err_exit_status = STATUS_USAGE;
	argp_parse(&argp, argc, argv, ARGP_NO_HELP, NULL, o);
	settle_repeats(o);
}

/* The options of a named grid must be known before the command line is parsed. */
static const struct grid *grid_of_words(int argc, char **argv)
{
	const char *found = "";
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strncmp(argv[i], "--grid=", 7))
			found = argv[i] + 7;
		else if (!strcmp(argv[i], "--grid") && i + 1 < argc)
			found = argv[++i];
	}
	return find_grid(found);
}

static void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (memory)
		return memory;
	program__complain("out of memory");
	exit(STATUS_FAILED);
}

/* The command line's words come after the grid's, which they override. */
static void parse_part(struct options *o, const char *const *words, int argc, char **argv)
{
	char **joined = allocate((size_t)argc + GRID_WORDS + 1, sizeof(*joined));
	int used = 1, i;

	joined[0] = argv[0];
	for (i = 0; i < GRID_WORDS && words[i]; i++)
		joined[used++] = (char *)words[i];
	for (i = 1; i < argc; i++)
		joined[used++] = argv[i];
	parse_words(o, used, joined);
	free(joined);
}

struct options *options__parse(int argc, char **argv, enum measuring what, size_t *count)
{
	const struct grid *grid = what == MEASURE_SWEEP ? grid_of_words(argc, argv) : NULL;
	struct options *parts;
	size_t i;

	if (what == MEASURE_RUNS && argc < 2) {
		program__complain("nothing to measure: try --variant all (see --help)");
		exit(STATUS_USAGE);
	}
	*count = grid ? grid->count : 1;
	parts = allocate(*count, sizeof(*parts));
	for (i = 0; i < *count; i++) {
		parts[i].sweep.given = what == MEASURE_SWEEP;
		parts[i].exporter.given = what == MEASURE_EXPORTER;
		parts[i].timeline = what == MEASURE_TIMELINE;
		if (grid)
			parse_part(&parts[i], grid->parts[i], argc, argv);
		else
			parse_words(&parts[i], argc, argv);
	}
	return parts;
}
