/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a send variant is. To add one: a file that defines such a struct, and
 * its line in variants.c.
 */
#ifndef SENDPATH_SEND_OPS_H
#define SENDPATH_SEND_OPS_H

#include <stddef.h>

struct load;
struct sender;

#define SEND_ZEROCOPY (1u << 0) /* asks for zero-copy: has settle, its counts mean something */
#define SEND_NOTHING  (1u << 1) /* no byte leaves: measures the harness */

struct send_ops {
	const char *name;
	const char *summary; /* one line */
	unsigned int flags;

	/* In the worker's thread, connected. On failure nothing is left behind. */
	int (*setup)(struct sender *s, const struct load *load);
	void (*teardown)(struct sender *s);

	/*
	 * Sends messages until the deadline has passed or none remain; 0 or a
	 * negative errno, with or without words in s->failure. The loop asks no
	 * options: run_verify is the one that refills each message.
	 */
	int (*run)(struct sender *s);
	int (*run_verify)(struct sender *s);

	/* Ends a phase: returns when no send is in flight. May be NULL. */
	int (*settle)(struct sender *s);
};

/* The registered variants, in the order of their list. */
extern const struct send_ops *const send_variants[];
extern const size_t send_variant_count;

/* NULL if there is none of that name. */
const struct send_ops *variants__find(const char *name);

/* "twocopy, onecopy, ...", cut to fit. */
const char *variants__names(char *text, size_t room);

/* A variant that lacks something is a mistake of ours: its name, or NULL. */
const char *variants__first_invalid(void);

#endif
