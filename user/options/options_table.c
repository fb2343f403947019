// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The options except those of a load, with their topics of the help. */
#include "user/options/options.h"

#include "user/commands.h"

/* clang-format off */
#define COMMAND_ROW(name, run, line) {name, 0, NULL, OPTION_DOC, line, HELP_COMMANDS},
const struct argp_option options_list[] = {
	{NULL, 0, NULL, 0, "Commands:", HELP_COMMANDS},
	COMMANDS(COMMAND_ROW)
	OPTION_ROWS,
	{0},
};
/* clang-format on */

#define OBSERVING (HELP_BIT(HELP_OBSERVED) | HELP_BIT(HELP_MEASURING))

#define EXPORTER_TEXT                                                                  \
	"Serve metrics of all TCP sends, or of some processes, to Prometheus until a " \
	"signal ends it. --mechanism, --sample, --cost and --verbose apply, too."

#define TOP_TEXT                                                                             \
	"Show the processes that send by TCP in a live table, like top: sends, throughput, " \
	"kernel time, zero-copy sends and the share of them that was copied."

#define TIMELINE_TEXT                                                                 \
	"Show what happens to single sends of a load or a program, and when: calls, " \
	"packets, softirqs, copies, completions."

#define MEASURING_TEXT "What is measured, and how it is reported."

static const struct help_topic topics[] = {
	HELP_TOPICS_OF_A_LOAD,
	{"sweep", HELP_BIT(HELP_SWEEP),
	 "Run a grid of workloads, keep the records in a folder; after an interruption, the same "
	 "command continues."},
	{"timeline", HELP_BIT(HELP_TIMELINE) | HELP_BIT(HELP_OBSERVED), TIMELINE_TEXT},
	{"top", HELP_BIT(HELP_TOP) | HELP_BIT(HELP_OBSERVED), TOP_TEXT},
	{"exporter", HELP_BIT(HELP_EXPORTER) | HELP_BIT(HELP_OBSERVED), EXPORTER_TEXT},
	{"measuring", OBSERVING | HELP_BIT(HELP_DETAILS), MEASURING_TEXT},
	{"all", ~0u, ""},
	{0},
};

static const struct help_topic topics_of_loads[] = {
	HELP_TOPICS_OF_A_LOAD,
	{"measuring", HELP_BIT(HELP_MEASURING) | HELP_BIT(HELP_DETAILS), MEASURING_TEXT},
	{"all", ~0u, ""},
	{0},
};

static const struct help_topic topics_of_observing[] = {
	{"measuring", HELP_BIT(HELP_MEASURING) | HELP_BIT(HELP_DETAILS), MEASURING_TEXT},
	{"all", ~0u, ""},
	{0},
};

const struct help options_help[] = {
	[MEASURE_RUNS] =
		{
			.groups = HELP_BIT(HELP_COMMANDS) | HELP_BIT(HELP_LOAD) | OBSERVING |
				  HELP_BIT(HELP_ABOUT),
			.topics = topics,
			.options = options_list,
			.usage = "Usage: %1$s [OPTION...]\n"
				 "       %1$s [OPTION...] -- PROGRAM [ARG...]\n"
				 "       %1$s COMMAND [OPTION...]\n",
			.doc = "Measure what TCP sends cost in the kernel, and whether zero-copy "
			       "sends were copied.\v"
			       "help COMMAND shows its options. Run it as root, by sudo.\n"
			       "Exit status: 0 done, 1 failed, 2 wrong usage, 3 this system "
			       "cannot.",
		},
	[MEASURE_SWEEP] =
		{
			.groups = HELP_BIT(HELP_SWEEP) | HELP_BIT(HELP_LOAD) | HELP_BIT(HELP_ABOUT),
			.topics = topics_of_loads,
			.options = options_list,
			.usage = "Usage: %1$s sweep --out=DIR [OPTION...]\n",
			.doc = "Run a grid of workloads, in blocks of random order, and keep each "
			       "record in a folder."
			       "\vAfter an interruption, the same command continues.",
		},
	[MEASURE_TIMELINE] =
		{
			.groups = HELP_BIT(HELP_TIMELINE) | HELP_BIT(HELP_OBSERVED) |
				  HELP_BIT(HELP_LOAD) | HELP_BIT(HELP_ABOUT),
			.topics = topics_of_loads,
			.options = options_list,
			.usage = "Usage: %1$s timeline [OPTION...]\n"
				 "       %1$s timeline [OPTION...] -- PROGRAM [ARG...]\n",
			.doc = TIMELINE_TEXT
			"\vExample: timeline --variant zerocopy --out trace.pftrace",
		},
	[MEASURE_TOP] =
		{
			.groups =
				HELP_BIT(HELP_TOP) | HELP_BIT(HELP_OBSERVED) | HELP_BIT(HELP_ABOUT),
			.topics = topics_of_observing,
			.options = options_list,
			.usage = "Usage: %1$s top [OPTION...]\n",
			.doc = TOP_TEXT
			"\vIn a pipe the table is plain text, one block for each interval.",
		},
	[MEASURE_EXPORTER] =
		{
			.groups = HELP_BIT(HELP_EXPORTER) | HELP_BIT(HELP_OBSERVED) |
				  HELP_BIT(HELP_ABOUT),
			.topics = topics_of_observing,
			.options = options_list,
			.usage = "Usage: %1$s exporter [OPTION...]\n",
			.doc = EXPORTER_TEXT
			"\v--textfile is for node_exporter's textfile collector.",
		},
};
