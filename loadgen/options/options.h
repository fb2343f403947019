/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The options of a load. Their names are the same wherever a load is described,
 * so the parser is an argp child that any program can take in.
 *
 * --variant, --size, --threads, --link and their like take lists, because a grid is
 * made of them; a single load is one element of each.
 */
#pragma once

#include <argp.h>

#include "loadgen/load.h"

#define LIST_MAX 32

#define OPTIONS_MAX  48
#define ROW_TEXT_MAX 256 /* of a value in text */

/* A list option, whatever the type of its elements. */
#define LOAD_LIST(type)            \
	struct {                   \
		size_t count;      \
		type of[LIST_MAX]; \
	}

/* What the options said: lists, and the rest in one template. */
struct load_options {
	struct load load; /* first: a list's offset is never 0 */
	LOAD_LIST(const char *) variants;
	LOAD_LIST(size_t) sizes;
	LOAD_LIST(unsigned int) threads;
	LOAD_LIST(const char *) models;
	LOAD_LIST(unsigned int) connections;
	LOAD_LIST(enum load_link) links;
	bool given[OPTIONS_MAX]; /* load_options__given() */
	bool every; /* all variants that there are: those that this kernel lacks are left out */
	bool models_all;
	bool load_given;	    /* any option but --duration */
	const char *stream_given;   /* an option of messages, or NULL */
	const char *procinfo_given; /* one of many connections, or NULL */
};

/*
 * The argp child. Its input is a struct load_options, which it initialises with
 * the defaults; a value that cannot be is a usage error (exit status 2) in one
 * line that names the option, the value and the remedy. Its keys lie from 0x4c00
 * to 0x4cff. Strings point into argv.
 */
extern const struct argp load_argp;

/* The defaults: an empty command line. */
void load_options__init(struct load_options *o);

/*
 * Sets one option's value; then, after the last, checks what depends on all of them
 * can tell. 0, or -EINVAL with the reason in one line.
 */
int load_options__set(struct load_options *o, const char *name, const char *value, char *why,
		      size_t room);
int load_options__resolve(struct load_options *o, char *why, size_t room);

/*
 * Probes each variant: of "every", those that this kernel lacks are left out, each with the
 * reason to skip; any other that it lacks is a negative errno with the reason in why.
 */
int load_options__keep_available(struct load_options *o, void (*skip)(const char *why), char *why,
				 size_t room);

/* Whether an option was set. Here and above, name is that of a row in rows.c, without dashes. */
bool load_options__given(const struct load_options *o, const char *name);

/* How many cells the grid has, and one of them: what varies first is what is compared. */
size_t load_options__cells(const struct load_options *o);
struct load load_options__nth(const struct load_options *o, size_t n);

/* How many neighbours, from each multiple of it on, differ in the variant or server model alone. */
size_t load_options__compared(const struct load_options *o);

/* Why this load cannot be, though each of its options can; NULL: it can. */
const char *load__impossible(const struct load *load, char *why, size_t room);
