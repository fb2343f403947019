/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The options that sweep has beside those of a measuring run. */
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sweep_options {
	bool given;	  /* the command is sweep */
	const char *grid; /* NULL: none is named */
	const char *out;
	unsigned int shard, shards; /* from 1 */
	uint32_t order;		    /* seed of the order */
	bool order_given;
	bool retry;
};

#define SWEEP_REPEATS 5 /* fewer bear no interval */
#define SHARDS_MAX    10000

enum sweep_option_key {
	SWEEP_GRID = 0x4e00,
	SWEEP_OUT,
	SWEEP_ORDER,
	SWEEP_SHARD,
	SWEEP_RETRY,
	SWEEP_KEYS_END,
};

void sweep_options__init(struct sweep_options *o);
/* Takes one option; 0, or -EINVAL with the reason in one line. */
int sweep_options__set(struct sweep_options *o, int key, const char *value, char *why, size_t room);

/*
 * The command line of a sweep (argv[0] is "sweep"), a part of its grid each: the words
 * of the part, then those of the command line. *count says how many. NULL when out of
 * memory or where there is no such grid, with the reason.
 */
char ***sweep_options__parts(int argc, char **argv, size_t *count, char *why, size_t room);
/* How many words a part has. */
int sweep_options__words(char **part);
void sweep_options__free(char ***parts, size_t count);
