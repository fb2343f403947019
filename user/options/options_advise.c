// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Parses the measurements that advise may request: loads on the path, and the program. The front
 * parses the other options of advise.
 */
#include "user/options/options.h"

#include <stdlib.h>
#include <string.h>

#define WARMUP "--warmup=0.05"

/* Names of options; all have a value. */
static const char *const of_path[] = {ADVISE_OF_PATH, NULL};
static const char *const of_program[] = {ADVISE_OF_PROGRAM, NULL};

/* Returns whether this word is --NAME or --NAME=VALUE, with one of the names. */
static bool is_one_of(const char *word, const char *const *names)
{
	size_t length = strcspn(word, "=");

	for (; !strncmp(word, "--", 2) && *names; names++)
		if (strlen(*names) + 2 == length && !strncmp(word + 2, *names, length - 2))
			return true;
	return false;
}

struct words {
	char **of;
	int count;
};

static void append_words(struct words *w, const char *const *more)
{
	for (; *more; more++)
		w->of[w->count++] = (char *)*more;
}

/*
 * Copies the options of these names, with their values. Returns the words from "--" on, if any.
 */
static char *const *add_named(struct words *w, char **argv, const char *const *names)
{
	for (argv++; *argv && strcmp(*argv, "--"); argv++) {
		if (!is_one_of(*argv, names))
			continue;
		w->of[w->count++] = *argv;
		if (!strchr(*argv, '=') && argv[1])
			w->of[w->count++] = *++argv;
	}
	return argv;
}

static void parse_into(struct options *to, struct words *w)
{
	struct options *parsed;
	size_t count;

	w->of[w->count] = NULL;
	parsed = options__parse(w->count, w->of, MEASURE_RUNS, &count);
	*to = *parsed;
	free(parsed);
}

struct options *options__parse_advise(int argc, char **argv, size_t *count)
{
	static const char *const path[] = {WARMUP, "--variant=zerocopy", "--size=64K",
					   "--messages=300", NULL};
	static const char *const blocks[] = {
		WARMUP, "--mechanism=none", "--variant=zerocopy,twocopy,onecopy",
		"--size=1K,2K,4K,8K,16K,32K,64K,128K,256K,512K,1M", NULL};
	static const char *const program[] = {"--by=device", NULL};
	static const char *const *const loads[] = {path, blocks};
	struct options *parts = calloc(3, sizeof(*parts));
	struct words w = {calloc((size_t)argc + 8, sizeof(*w.of)), 0};
	char *const *command;

	for (*count = 0; parts && w.of && *count < 2; ++*count) {
		w.count = 1;
		w.of[0] = argv[0];
		append_words(&w, loads[*count]);
		add_named(&w, argv, of_path);
		parse_into(&parts[*count], &w);
	}
	if (!parts || !w.of)
		return NULL;
	w.count = 1;
	append_words(&w, program);
	command = add_named(&w, argv, of_program);
	append_words(&w, (const char *const *)command);
	if (w.count > 2 && !(command[0] && !command[1]))
		parse_into(&parts[(*count)++], &w);
	/* The array is freed unless it contains the command. The words are argv's. */
	if (!command[0])
		free(w.of);
	return parts;
}
