/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Grids that have a name: each is options of a load, as a command line has them. */
#pragma once

#include <stddef.h>

#define GRID_PARTS 2
#define GRID_WORDS 8

struct named_grid {
	const char *name;
	const char *summary;
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
