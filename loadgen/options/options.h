/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The options of a load. Their names are the same wherever a load is described,
 * so the parser is an argp child that any program can take in.
 *
 * --variant, --size, --threads, --link and their like take lists, because a grid is
 * made of them; a single load is one element of each.
 */
#ifndef SENDPATH_LOAD_OPTIONS_H
#define SENDPATH_LOAD_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "loadgen/load.h"

#define LIST_MAX 32

/* What the options said: lists, and the rest in one template. */
struct load_options {
	const char *variants[LIST_MAX];
	size_t variant_count;
	size_t sizes[LIST_MAX];
	size_t size_count;
	unsigned int threads[LIST_MAX];
	size_t thread_count;
	const char *models[LIST_MAX];
	size_t model_count;
	unsigned int connections[LIST_MAX];
	size_t connection_count;
	bool links[LIST_MAX]; /* struct load's link */
	size_t link_count;
	size_t field_size; /* 0: not given */
	bool variants_given;
	bool sizes_given;
	bool threads_given;
	bool fields_given;
	bool duration_given;
	bool address_given;
	bool every; /* all variants that there are: those that this kernel lacks are left out */
	bool load_given; /* any option but --duration */
	bool models_all;
	bool client_given;
	bool port_given;
	const char *stream_given;   /* an option of messages, or NULL */
	const char *procinfo_given; /* one of many connections, or NULL */
	struct load load;
};

/*
 * The argp child. Its input is a struct load_options, which it initialises with
 * the defaults; a value that cannot be is a usage error (exit status 2) in one
 * line that names the option, the value and the remedy. Its keys lie from 0x4c00
 * to 0x4cff. Strings point into argv.
 */
extern const struct argp load_argp;

/* The defaults: what an empty command line means. */
void load_options__init(struct load_options *o);

/*
 * Takes one option's value; then, after the last, what only all of them together
 * can tell. 0, or -EINVAL with the reason in one line.
 */
int load_options__set(struct load_options *o, int key, const char *value, char *why, size_t room);
int load_options__resolve(struct load_options *o, char *why, size_t room);

/* The load for one cell of the grid, on the first link. The indices are below the counts. */
struct load load_options__cell(const struct load_options *o, size_t variant, size_t size,
			       size_t threads);

/* How many cells the grid has, and one of them: what varies first is what is compared. */
size_t load_options__cells(const struct load_options *o);
struct load load_options__nth(const struct load_options *o, size_t n);

/* How many neighbours, from each multiple of it on, differ in the variant or server model alone. */
size_t load_options__compared(const struct load_options *o);

/* Why this load cannot be, though each of its options can; NULL: it can. */
const char *load__impossible(const struct load *load, char *why, size_t room);

/* The keys, for load_options__set(). */
enum load_option_key {
	LOAD_VARIANT = 0x4c00,
	LOAD_SIZE,
	LOAD_FIELDS,
	LOAD_FIELD_SIZE,
	LOAD_THREADS,
	LOAD_DURATION,
	LOAD_MESSAGES,
	LOAD_WARMUP,
	LOAD_INFLIGHT,
	LOAD_VERIFY,
	LOAD_PIN,
	LOAD_RCVLOWAT,
	LOAD_ADDRESS,
	LOAD_PORT,
	LOAD_NETNS,
	LOAD_WORKING_SET,
	LOAD_PICK,
	LOAD_SEED,
	LOAD_ALIGN,
	LOAD_HUGE_PAGES,
	LOAD_REGISTERED,
	LOAD_REUSE_EARLY,
	LOAD_FILE_DIR,
	LOAD_RATE,
	LOAD_SOCKET,
	LOAD_WORKLOAD,
	LOAD_SERVER_MODEL,
	LOAD_CONNECTIONS,
	LOAD_CLIENT_MODEL,
	LOAD_BACKLOG,
	LOAD_PEER,
	LOAD_LINK,
	LOAD_KEYS_END,
};

#endif
