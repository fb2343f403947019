/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a sweep runs and in what order, pure: blocks, each of every cell once, in an
 * order that the seed tells. So a slow hour falls on all cells alike.
 */
#pragma once

#include "loadgen/options/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sweep_cell {
	struct load load;
	char name[256]; /* as the record's run.cell */
	size_t group;	/* cells of one group differ in the variant or server model alone */
};

struct sweep_plan {
	struct sweep_cell *cells;
	size_t count;
	unsigned int repeats;	    /* blocks */
	unsigned int shard, shards; /* this is number shard of so many, from 1 */
	uint32_t seed;
	bool as_listed; /* a grid: in its own order, what is listed twice is run twice */
};

/* Adds the cells of a grid; what is there already is not added again. 0 or -ENOMEM. */
int sweep_plan__add(struct sweep_plan *p, const struct load_options *grid);
void sweep_plan__free(struct sweep_plan *p);

/* The cells of a block, by index, in the order they are run; order has room for count. */
void sweep_plan__order(const struct sweep_plan *p, unsigned int block, size_t *order);

/*
 * Is this cell the shard's? A group is never divided, nor are the repeats of a cell:
 * what is compared is measured on one machine.
 */
bool sweep_plan__mine(const struct sweep_plan *p, size_t cell);
/* How many runs the shard has. */
size_t sweep_plan__runs(const struct sweep_plan *p);

/* Index of the cell of that name; -1: there is none. */
long sweep_plan__find(const struct sweep_plan *p, const char *name);
