// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/options/options.h"

#include "user/trace/groups.h"
#include "user/trace/tracer.h"

#include "common/json.h"
#include "common/program.h"
#include "common/units.h"
#include "loadgen/options/rows.h"

#include <stdlib.h>
#include <string.h>

const char *argp_program_version = "sendpath " SENDPATH_VERSION;

#define REPEATS_MIN	    6 /* enough to decide one comparison: see docs/statistics.md */
#define REPEATS_SPARE	    2
#define WRONG_MOST	    0.05
#define SAMPLE_MAX	    1000000
#define PROFILE_MAX	    100000
#define GROUPS_MAX	    65536 /* without --by-max */
#define GROUPS_MAX_MAX	    16777216
#define LIVE_MIN_US	    100000 /* the shortest --interval */
#define TIMELINE_SENDS_MAX  10000
#define TIMELINE_SENDS	    200
#define TIMELINE_S	    1  /* seconds of a window, without --duration */
#define TOP_DEFAULT	    32 /* process names that the exporter, and top, show */
#define TOP_INTERVAL_S	    1
#define LISTEN		    "127.0.0.1:9435"
#define EXPORTER_INTERVAL_S 15
#define HOST_LETTERS	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._"

/* Ends the program because of a value, unless remedy is NULL. */
static error_t refuse_argument(struct argp_state *state, const char *option, const char *value,
			       const char *remedy)
{
	return remedy ? program__refuse(state, "%s %s: %s", option, value, remedy) : 0;
}

/* Returns the row of an option; NULL: the key is argp's own. */
static const struct argp_option *row_of(int key)
{
	const struct argp_option *row = options_list;

	while (row->key != key && (row->name || row->doc))
		row++;
	return row->name ? row : NULL;
}

#define GRID_PARTS 2
#define GRID_WORDS 8

/* A named grid: each part has options of a load, as on a command line. */
static const struct grid {
	const char *name;
	size_t count; /* number of parts */
	const char *parts[GRID_PARTS][GRID_WORDS];
} grids[] = {GRID_ROWS};

static const struct grid *find_grid(const char *name)
{
	for (size_t i = 0; i < sizeof(grids) / sizeof(grids[0]); i++)
		if (!strcmp(grids[i].name, name))
			return &grids[i];
	return NULL;
}

/* Options that need no code of their own; key is their name in JSON. */
static const struct load_row rows[] = {OPTION_VALUES, {.name = NULL}};

json_object *options__json(const struct options *o)
{
	json_object *all = json_object_new_object();
	const void *member;

	for (const struct load_row *row = rows; row->name; row++) {
		member = (const char *)o + row->at;
		if (row->type == ROW_TEXT)
			json__add_string(all, row->key, *(const char *const *)member);
		else if (row->type == ROW_FLAG)
			json__add_truth(all, row->key, *(const bool *)member);
		else if (row->type == ROW_UNSIGNED)
			json__add_count(all, row->key, *(const unsigned int *)member);
	}
	json__add_string(all, "tier", o->mechanism ? mechanism_name(o->mechanism) : NULL);
	json__add_count(all, "by", o->by);
	json__add_truth(all, "timeline", o->what == MEASURE_TIMELINE);
	return all;
}

static error_t set_value(struct options *o, int key, const char *arg, struct argp_state *state)
{
	const struct argp_option *option = row_of(key);
	const struct load_row *row = rows;
	char why[256];
	struct refusal r = {why, sizeof(why), option ? option->name : NULL, arg};

	while (option && row->name && strcmp(row->name, option->name))
		row++;
	if (!option || !row->name)
		return ARGP_ERR_UNKNOWN;
	return row__set(row, o, arg, &r) ? program__refuse(state, "%s", why) : 0;
}

/* Makes all words after "--" the command. */
static error_t take_command(struct options *o, struct argp_state *state)
{
	char **command = &state->argv[state->next - 1];

	state->next = state->argc;
	return refuse_argument(state, "--", command[0], target__set_command(&o->target, command));
}

static error_t add_host(struct exporter_options *e, const char *name, struct argp_state *state)
{
	if (!name[0] || name[strspn(name, HOST_LETTERS)])
		return refuse_argument(state, "--allow-host", name,
				       "give the name of a host, without a port");
	if (e->name_count == ALLOWED_HOSTS_MAX)
		return program__refuse(state, "--allow-host %s: give at most %d names", name,
				       ALLOWED_HOSTS_MAX);
	e->names[e->name_count++] = name;
	return 0;
}

/* Refuses an option that only other commands have. */
static error_t refuse_foreign(const struct options *o, int key, struct argp_state *state)
{
	static const struct {
		enum measuring what;
		const char *words;
	} commands[] = {
		[HELP_SWEEP] = {MEASURE_SWEEP, "sweep: analyze sweep --out DIR"},
		[HELP_TIMELINE] = {MEASURE_TIMELINE, "timeline: analyze timeline"},
		[HELP_TOP] = {MEASURE_TOP, "top: analyze top"},
		[HELP_EXPORTER] = {MEASURE_EXPORTER, "exporter: analyze exporter"},
	};
	const char *command = NULL;

	for (const struct argp_option *row = options_list; row->name || row->doc; row++) {
		if (row->key != key || !row->name)
			continue;
		if (row->group > HELP_EXPORTER || !commands[row->group].words ||
		    commands[row->group].what == o->what)
			return 0;
		command = command ? command : commands[row->group].words;
	}
	return command ? program__refuse(state, "--%s: belongs to %s", row_of(key)->name, command)
		       : 0;
}

static error_t check(struct options *o, struct argp_state *state)
{
	if ((o->what == MEASURE_EXPORTER || o->what == MEASURE_TOP) && !o->target.given)
		target__set(&o->target, TARGET_ALL, NULL);
	if (o->grid && !find_grid(o->grid))
		return refuse_argument(state, "--grid", o->grid, "unknown; there are " GRID_NAMES);
	return options__check(o, state);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	if (refuse_foreign(o, key, state))
		return EINVAL;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->load;
		state->child_inputs[1] = (void *)&options_help[o->what];
		o->by_max = GROUPS_MAX;
		o->sends = TIMELINE_SENDS;
		o->top = TOP_DEFAULT;
		return 0;
	case OPT_BY:
		return refuse_argument(state, "--by", arg, groups__parse(arg, &o->by));
	case OPT_PID:
		return refuse_argument(state, "--pid", arg,
				       target__set(&o->target, TARGET_PROCESS, arg));
	case OPT_COMM:
		return refuse_argument(state, "--comm", arg,
				       target__set(&o->target, TARGET_COMM, arg));
	case OPT_CGROUP:
		return refuse_argument(state, "--cgroup", arg,
				       target__set(&o->target, TARGET_CGROUP, arg));
	case OPT_ALL:
		return refuse_argument(state, "--all", "and others",
				       target__set(&o->target, TARGET_ALL, NULL));
	case OPT_MECHANISM:
		o->mechanism = mechanism_parse(arg);
		return refuse_argument(state, "--mechanism", arg,
				       o->mechanism ? NULL
						    : "give fentry, kprobe, tracepoint or none");
	case OPT_PROFILE:
		return set_value(o, key, arg ? arg : units__text("%d", PROFILE_HZ), state);
	case OPT_WAIT_QUIET:
		return set_value(o, key, arg ? arg : "60", state);
	case OPT_ALLOW_HOST:
		return add_host(&o->exporter, arg, state);
	case ARGP_KEY_END:
		return check(o, state);
	case ARGP_KEY_ARG:
		if (state->quoted)
			return take_command(o, state);
		return refuse_argument(state, arg, "is no command",
				       "put -- before a program to observe");
	default:
		return set_value(o, key, arg, state);
	}
}

static const struct argp_child children[] = {
	{&load_argp, 0, NULL, 0}, {&help_argp, 0, NULL, 0}, {0}};

static const struct argp argp = {
	.options = options_list, .parser = parse_option, .children = children};

/*
 * Returns the fewest repeats that can decide each comparison of a row, with Holm's correction, and
 * some more: with the fewest, one run that differs from the others leaves all comparisons
 * undecided.
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
 * Sets the repeats and the duration. Without --repeat, several configurations get as many repeats
 * as are needed to decide their comparisons, and share a total time unless the duration of a window
 * is given. A single configuration has no comparison and runs once.
 */
static void settle_repeats(struct options *o)
{
	bool repeated = o->repeat;
	bool compared = !o->target.given && load_options__cells(&o->load) > 1 &&
			!(o->interval > 0) && !o->load.load.messages && o->what != MEASURE_TIMELINE;

	if (o->what == MEASURE_TIMELINE && !load_options__given(&o->load, "duration") &&
	    !(o->total_s > 0))
		o->load.load.duration_s = TIMELINE_S;
	o->decides = compared && !repeated && o->what != MEASURE_SWEEP;
	if (!repeated)
		o->repeat = compared || o->what == MEASURE_SWEEP ? repeats_of_family(&o->load) : 1;
	if (o->total_s > 0)
		o->load.load.duration_s = o->total_s / o->repeat;
	else if (o->decides && !load_options__given(&o->load, "duration"))
		o->load.load.duration_s /= o->repeat;
}

/* The row of a process names the devices of its sends, so groups have a device, too. */
static void settle_top(struct options *o)
{
	o->by = (o->by ? o->by : BY_PROCESS) | BY_DEVICE;
	if (o->interval <= 0)
		o->interval = TOP_INTERVAL_S;
	if (!o->sort)
		o->sort = "gbit";
}

static void parse_words(struct options *o, int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[argc - 1], "--"))
		exit(program__fail(STATUS_USAGE, "--: name the command to observe after it"));
	help__check_options(&options_help[o->what], argc, argv);
	argp_err_exit_status = STATUS_USAGE;
	argp_parse(&argp, argc, argv, ARGP_NO_HELP, NULL, o);
	settle_repeats(o);
	if (!o->exporter.listen)
		o->exporter.listen = LISTEN;
	if (o->what == MEASURE_EXPORTER && o->interval <= 0)
		o->interval = EXPORTER_INTERVAL_S;
	if (o->what == MEASURE_TOP)
		settle_top(o);
}

/* Finds --grid before the command line is parsed, because the grid's options come first. */
static const struct grid *grid_of_words(int argc, char **argv)
{
	const char *found = "";

	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
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

	if (!memory)
		exit(program__fail(STATUS_FAILED, "out of memory"));
	return memory;
}

/* Parses a grid's words, then the command line's, which override them. */
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

	if (what == MEASURE_RUNS && argc < 2)
		exit(program__fail(STATUS_USAGE,
				   "nothing to measure: try --variant all (see --help)"));
	*count = grid ? grid->count : 1;
	parts = allocate(*count, sizeof(*parts));
	for (size_t i = 0; i < *count; i++) {
		parts[i].what = what;
		if (grid)
			parse_part(&parts[i], grid->parts[i], argc, argv);
		else
			parse_words(&parts[i], argc, argv);
	}
	return parts;
}
