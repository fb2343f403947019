// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/options/options_sweep.h"

#include "user/options/grids.h"
#include "user/options/options.h"

#include "common/units.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sweep_options__init(struct sweep_options *o)
{
	*o = (struct sweep_options){.given = o->given, .shard = 1, .shards = 1};
}

static int say(char *why, size_t room, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static int say(char *why, size_t room, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, room, format, args);
	va_end(args);
	return -EINVAL;
}

static int refuse_grid(const char *name, char *why, size_t room)
{
	char names[128];

	return say(why, room, "--grid %s: unknown; there are %s", name,
		   grids__names(names, sizeof(names)));
}

static int set_shard(struct sweep_options *o, const char *value, char *why, size_t room)
{
	const char *slash = strchr(value, '/');
	unsigned long long shard = 0, shards = 0;
	char first[16] = "";

	if (slash && slash - value < (long)sizeof(first))
		memcpy(first, value, (size_t)(slash - value));
	if (!slash || units__count(first, &shard) || units__count(slash + 1, &shards) || !shard ||
	    shard > shards || shards > SHARDS_MAX)
		return say(why, room, "--shard %s: give I/N, from 1/N to N/N, such as 2/3", value);
	o->shard = (unsigned int)shard;
	o->shards = (unsigned int)shards;
	return 0;
}

int sweep_options__set(struct sweep_options *o, int key, const char *value, char *why, size_t room)
{
	static const char *const names[] = {"--grid", "--out", "--order-seed", "--shard",
					    "--retry"};
	unsigned long long number;

	if (!o->given)
		return say(why, room, "%s: belongs to sweep: analyze sweep --out DIR",
			   names[key - SWEEP_GRID]);
	switch ((enum sweep_option_key)key) {
	case SWEEP_GRID:
		o->grid = value;
		return grids__find(value) ? 0 : refuse_grid(value, why, room);
	case SWEEP_OUT:
		o->out = value;
		return value[0] ? 0 : say(why, room, "--out: give the name of a folder");
	case SWEEP_ORDER:
		if (units__count(value, &number) || number > UINT32_MAX)
			return say(why, room,
				   "--order-seed %s: give a whole number from 0 to 4294967295",
				   value);
		o->order = (uint32_t)number;
		o->order_given = true;
		return 0;
	case SWEEP_SHARD:
		return set_shard(o, value, why, room);
	default:
		o->retry = true;
		return 0;
	}
}

/* The options of a grid have to be there before the command line is parsed. */
static const char *find_grid(int argc, char **argv)
{
	const char *found = NULL;
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strncmp(argv[i], "--grid=", 7))
			found = argv[i] + 7;
		else if (!strcmp(argv[i], "--grid") && i + 1 < argc)
			found = argv[++i];
	}
	return found;
}

/* The words of the command line behind those of the grid, which they override. */
static char **join(const char *const *words, int argc, char **argv)
{
	char **joined = calloc((size_t)argc + GRID_WORDS + 1, sizeof(*joined));
	size_t used = 0, i;
	int j;

	if (!joined)
		return NULL;
	joined[used++] = argv[0];
	for (i = 0; words && i < GRID_WORDS && words[i]; i++)
		joined[used++] = (char *)words[i];
	for (j = 1; j < argc; j++)
		joined[used++] = argv[j];
	return joined;
}

char ***sweep_options__parts(int argc, char **argv, size_t *count, char *why, size_t room)
{
	const char *name = find_grid(argc, argv);
	const struct named_grid *grid = name ? grids__find(name) : NULL;
	char ***parts;
	size_t i;

	if (name && !grid) {
		refuse_grid(name, why, room);
		return NULL;
	}
	*count = grid ? named_grid__parts(grid) : 1;
	parts = calloc(*count, sizeof(*parts));
	for (i = 0; parts && i < *count; i++) {
		parts[i] = join(grid ? grid->parts[i] : NULL, argc, argv);
		if (parts[i])
			continue;
		sweep_options__free(parts, i);
		parts = NULL;
	}
	if (!parts)
		say(why, room, "out of memory");
	return parts;
}

int sweep_options__words(char **part)
{
	int count = 0;

	while (part[count])
		count++;
	return count;
}

void sweep_options__free(char ***parts, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		free(parts[i]);
	free(parts);
}

int options__check_sweep(const struct options *o, char *why, size_t room)
{
	if (!o->sweep.out)
		return say(why, room,
			   "--out is missing: name a folder for the records of the sweep");
	if (o->target.given)
		return say(why, room, "sweep runs loads: it goes with no program to observe");
	if (o->json)
		return say(why, room, "--json %s: a sweep writes its records to --out", o->json);
	if (o->interval > 0)
		return say(why, room, "--interval: a sweep has a line of its own, leave it out");
	return 0;
}
