/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/program.h"
#include "loadgen/options/help.h"
#include "loadgen/options/options.h"

#define ROWS_MAX 128

enum { OPT_HELP = 'h', OPT_HELP_HIDDEN = '?', OPT_VERSION = 'V', OPT_USAGE = 0x4d00 };

static const struct argp_option own[] = {
	{"help", OPT_HELP, "TOPIC", OPTION_ARG_OPTIONAL, "show this, or the options of a topic",
	 HELP_ABOUT},
	{NULL, OPT_HELP_HIDDEN, NULL, OPTION_HIDDEN, "show this", HELP_ABOUT},
	{"usage", OPT_USAGE, NULL, 0, "show all options in a few lines", HELP_ABOUT},
	{"version", OPT_VERSION, NULL, 0, "show the version", HELP_ABOUT},
	{0},
};

/* The last row of a table has no members. A header has a text, so it is not the end. */
static bool is_end(const struct argp_option *o)
{
	return !o->name && !o->key && !o->doc;
}

/* Returns the rows of these groups, from all tables; valid until the next call. */
static const struct argp_option *collect_rows(const struct help *h, unsigned int groups)
{
	static struct argp_option rows[ROWS_MAX + 1];
	const struct argp_option *const tables[] = {load_argp.options, h->options, own};
	struct argp_option *to = rows;

	for (size_t i = h->topics ? 0 : 1; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (const struct argp_option *row = tables[i]; !is_end(row); row++)
			if (groups & HELP_BIT(row->group) && to < rows + ROWS_MAX)
				*to++ = *row;
	*to = (struct argp_option){0};
	return rows;
}

/* Writes the topics' names: "load, ends or all". */
static void name_topics(const struct help *h, char *text, size_t room)
{
	size_t used = 0;

	for (const struct help_topic *t = h->topics; t->name && used < room; t++)
		used += (size_t)snprintf(text + used, room - used, "%s%s",
					 !used	     ? ""
					 : t[1].name ? ", "
						     : " or ",
					 t->name);
}

/* Prints these groups below a text; "": the program's own text. */
static void print_help(const struct help *h, unsigned int groups, const char *text,
		       unsigned int flags)
{
	struct argp shown = {.options = collect_rows(h, groups), .doc = text};
	char names[128], doc[1024];

	name_topics(h, names, sizeof(names));
	if (!text[0]) {
		if (flags & ARGP_HELP_LONG)
			printf(h->usage, program_invocation_short_name);
		snprintf(doc, sizeof(doc), "%s\nThe other options: --help=TOPIC, of %s.", h->doc,
			 names);
		shown.doc = doc;
	}
	setenv("ARGP_HELP_FMT", "no-dup-args-note", 0); /* omits argp's note on arguments */
	argp_help(&shown, stdout, flags, program_invocation_short_name);
	exit(STATUS_OK);
}

static error_t show_topic(const struct help *h, const char *name, struct argp_state *state)
{
	char names[128];

	for (const struct help_topic *t = h->topics; t->name; t++)
		if (!strcmp(t->name, name))
			print_help(h, t->groups, t->text, ARGP_HELP_LONG | ARGP_HELP_DOC);
	name_topics(h, names, sizeof(names));
	return program__refuse(state, "--help=%s: no such topic; give %s", name, names);
}

static error_t parse_help_word(int key, char *arg, struct argp_state *state)
{
	const struct help *h = state->input;

	switch (key) {
	case OPT_HELP:
	case OPT_HELP_HIDDEN:
		if (arg)
			return show_topic(h, arg, state);
		print_help(h, h->groups, "", ARGP_HELP_LONG | ARGP_HELP_DOC);
		return 0;
	case OPT_USAGE:
		print_help(h, ~HELP_BIT(HELP_COMMANDS), "", ARGP_HELP_USAGE);
		return 0;
	case OPT_VERSION:
		printf("%s\n", argp_program_version);
		exit(STATUS_OK);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

size_t help__distance(const char *a, const char *b)
{
	size_t row[HELP_WORD_MAX + 1], i, j, before, next, length = strlen(b);

	if (length > HELP_WORD_MAX)
		return length;
	for (j = 0; j <= length; j++)
		row[j] = j;
	for (i = 0; a[i]; i++) {
		before = row[0]++;
		for (j = 0; j < length; j++, before = next) {
			next = row[j + 1];
			row[j + 1] = before + (a[i] != b[j]);
			if (next + 1 < row[j + 1])
				row[j + 1] = next + 1;
			if (row[j] + 1 < row[j + 1])
				row[j + 1] = row[j] + 1;
		}
	}
	return row[length];
}

/*
 * Returns the option that a word names; up to "=", an unambiguous prefix of the name is enough.
 * Returns NULL if no option matches, and sets *nearest to the most similar one.
 */
static const struct argp_option *find_option(const struct argp_option *rows, const char *word,
					     const char **nearest)
{
	const struct argp_option *begun = NULL;
	bool ambiguous = false;
	char name[HELP_WORD_MAX + 1];
	size_t length = strcspn(word, "="), least = HELP_WORD_MAX, distance;

	*nearest = NULL;
	if (length > HELP_WORD_MAX)
		return NULL;
	snprintf(name, sizeof(name), "%.*s", (int)length, word);
	for (; !is_end(rows); rows++) {
		if (!rows->name || rows->flags & OPTION_DOC)
			continue;
		if (!strcmp(rows->name, name))
			return rows;
		if (!strncmp(rows->name, name, length)) {
			ambiguous = begun;
			begun = rows;
		}
		distance = help__distance(name, rows->name);
		if (distance < least) {
			least = distance;
			*nearest = rows->name;
		}
	}
	if (begun)
		*nearest = begun->name;
	else if (least > 1 + length / 3)
		*nearest = NULL;
	return ambiguous ? NULL : begun;
}

static bool has_letter(const struct argp_option *rows, char letter)
{
	while (!is_end(rows) && rows->key != letter)
		rows++;
	return !is_end(rows);
}

/* Prints the error as safe text. getopt would refuse the option, too, but print it unescaped. */
static void refuse_option(const struct help *h, const char *word, const char *nearest)
{
	program__complain("there is no option %.*s%s%s (--help%s lists them)",
			  (int)strcspn(word, "="), word, nearest ? ": did you mean --" : "",
			  nearest ? nearest : "", h->topics ? "=all" : "");
	exit(STATUS_USAGE);
}

void help__check_options(const struct help *h, int argc, char **argv)
{
	const struct argp_option *rows = collect_rows(h, ~0u), *option;
	const char *nearest;

	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (argv[i][0] == '-' && argv[i][1] && argv[i][1] != '-' &&
		    !has_letter(rows, argv[i][1]))
			refuse_option(h, argv[i], NULL);
		if (strncmp(argv[i], "--", 2))
			continue;
		option = find_option(rows, argv[i] + 2, &nearest);
		if (!option)
			refuse_option(h, argv[i], nearest);
		if (strchr(argv[i], '=') ? !!option->arg
					 : !option->arg || option->flags & OPTION_ARG_OPTIONAL)
			continue;
		/* the value is the next word */
		if (option->arg && ++i < argc)
			continue;
		program__complain("option '--%s' %s an argument", option->name,
				  option->arg ? "requires" : "doesn't allow");
		exit(STATUS_USAGE);
	}
}

const struct argp help_argp = {.options = own, .parser = parse_help_word};
