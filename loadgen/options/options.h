/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The options of a load. They have the same names everywhere, so the parser is an argp child that
 * any program can include. --variant, --size, --threads, --link and others take lists, which make a
 * grid; a single load has one element of each.
 */
#pragma once

#include <argp.h>

#include "loadgen/load.h"

#define LIST_MAX 32

#define OPTIONS_MAX  48
#define ROW_TEXT_MAX 256 /* longest value as text, with its end */

/* The values of a list option, of any element type. */
#define LOAD_LIST(type)            \
	struct {                   \
		size_t count;      \
		type of[LIST_MAX]; \
	}

/* The parsed options: the lists, and a load with all other values. */
struct load_options {
	struct load load; /* first: a list's offset is never 0 */
	LOAD_LIST(const char *) variants;
	LOAD_LIST(size_t) sizes;
	LOAD_LIST(unsigned int) threads;
	LOAD_LIST(const char *) models;
	LOAD_LIST(unsigned int) connections;
	LOAD_LIST(enum load_link) links;
	bool given[OPTIONS_MAX];    /* load_options__given() */
	bool every;		    /* "every": all variants or models that this system has */
	bool load_given;	    /* an option other than --duration */
	const char *stream_given;   /* an option that only streams have, or NULL */
	const char *procinfo_given; /* an option that only procinfo has, or NULL */
};

/*
 * The argp child. Its input is a struct load_options, which it sets to the defaults. A bad value is
 * a usage error (exit status 2) in one line that names the option, the value and the remedy. Its
 * keys are 0x4c00 to 0x4cff. Strings point into argv.
 */
extern const struct argp load_argp;

/* The defaults: an empty command line. */
void load_options__init(struct load_options *o);

/*
 * load_options__set() sets one option's value. After the last option, load_options__resolve()
 * checks combinations. Both return 0, or -EINVAL with the reason in one line.
 */
int load_options__set(struct load_options *o, const char *name, const char *value, char *why,
		      size_t room);
int load_options__resolve(struct load_options *o, char *why, size_t room);

/*
 * Probes each variant. If the option was "every", leaves out those that this kernel lacks, and
 * calls skip with the reason for each. Otherwise returns a negative errno, with the reason in why,
 * if the kernel lacks a named variant.
 */
int load_options__keep_available(struct load_options *o, void (*skip)(const char *why), char *why,
				 size_t room);

/* Returns whether the option was set. name is a row's name in rows.c, without dashes. */
bool load_options__given(const struct load_options *o, const char *name);

/* Return the number of configurations, and the nth. The compared options vary first. */
size_t load_options__cells(const struct load_options *o);
struct load load_options__nth(const struct load_options *o, size_t n);

/*
 * Returns how many consecutive configurations, from each multiple of this number on, differ only in
 * the variant or server model.
 */
size_t load_options__compared(const struct load_options *o);

/* Returns why options that are valid alone contradict each other, or NULL. */
const char *load__impossible(const struct load *load, char *why, size_t room);
