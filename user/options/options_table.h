/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What options.c parses, and shows; private to it and its tests. */
#pragma once

#include "loadgen/options/help.h"

#include "tables.h" /* made of analysis/tables/options.py */

enum { OPTION_NUMBERS };

extern const struct argp_option options_list[];
const char *options__name(int key);
/* Of the program, of "sweep" and of "exporter". */
extern const struct help options_help, options_help_sweep, options_help_exporter;

struct options;
/* Takes one of the options of sweep. What is wrong ends the program. */
void options__take_sweep(struct options *o, int key, const char *value, struct argp_state *state);
/* Is all there that a sweep needs, and nothing else? */
void options__check_sweep(const struct options *o, struct argp_state *state);

/* The same of exporter, whose defaults are set here, too. */
void options__take_exporter(struct options *o, int key, const char *value,
			    struct argp_state *state);
void options__check_exporter(struct options *o, struct argp_state *state);

/* Grids that have a name: each is options of a load, as a command line has them. */
#define GRID_PARTS 2
#define GRID_WORDS 8

struct named_grid {
	const char *name;
	/* Each part makes cells by itself; the options of the command line come after its own. */
	const char *parts[GRID_PARTS][GRID_WORDS];
};

extern const struct named_grid named_grids[];
extern const size_t named_grid_count;

/* NULL if there is none of that name. */
const struct named_grid *grids__find(const char *name);
/* "copies, sizes, ...", cut to fit. */
const char *grids__names(char *text, size_t room);
/* How many parts it has: at least one. */
size_t named_grid__parts(const struct named_grid *grid);
