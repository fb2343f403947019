/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * --help[=TOPIC], --usage and --version, instead of argp's own. There are more options than fit on
 * a screen, so each option is in a group, and each topic shows some groups. A program that includes
 * this parser runs it with ARGP_NO_HELP.
 */
#pragma once

#include <argp.h>

/* The groups of options (argp's groups), in the order in which help shows them. */
enum help_group {
	HELP_COMMANDS = 1,
	HELP_LOAD,
	HELP_MESSAGES,
	HELP_ENDS,
	HELP_SERVING,
	HELP_OBSERVED,
	HELP_SWEEP,
	HELP_TIMELINE,
	HELP_TOP,
	HELP_EXPORTER,
	HELP_MEASURING,
	HELP_DETAILS,
	HELP_ABOUT = -1, /* argp shows negative groups last */
};

struct help_topic {
	const char *name;    /* NULL in the row after the last topic */
	unsigned int groups; /* one HELP_BIT() per group */
	const char *text;    /* "": the program's own text */
};
#define HELP_BIT(group) (1u << ((group)&31))

/* The input of the argp child. */
struct help {
	unsigned int groups;		   /* shown by --help without a topic */
	const struct help_topic *topics;   /* NULL: the program has no options of a load */
	const struct argp_option *options; /* the program's own, beside those of a load */
	const char *usage; /* a format, %1$s: program's name. argp's own usage shows no commands. */
	const char *doc;   /* as in struct argp */
};
extern const struct argp help_argp;

/*
 * Ends the program with status 2 and one line if a word is an unknown or ambiguous option (suggests
 * the likely one), or if a value is missing or not expected. argp would print the word unescaped,
 * and a second line.
 */
void help__check_options(const struct help *h, int argc, char **argv);

#define HELP_WORD_MAX 31
/* Returns how many letters must be inserted, deleted or changed to turn one word into the other. */
size_t help__distance(const char *a, const char *b);

/* The topics of every program that runs a load. */
#define HELP_TOPICS_OF_A_LOAD                                                   \
	{"load", HELP_BIT(HELP_LOAD) | HELP_BIT(HELP_MESSAGES),                 \
	 "What is sent, from what memory, and when."},                          \
		{"ends", HELP_BIT(HELP_ENDS),                                   \
		 "Where the two ends of the connections are, and how they are " \
		 "set."},                                                       \
	{                                                                       \
		"serving", HELP_BIT(HELP_SERVING),                              \
			"Of --workload procinfo: many short connections, each " \
			"answered and closed."                                  \
	}
