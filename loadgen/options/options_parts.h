/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files share that say what the load's options mean; private to these. */
#ifndef SENDPATH_OPTIONS_PARTS_H
#define SENDPATH_OPTIONS_PARTS_H

#include "loadgen/options/options.h"

/* Where the words of a refusal go. */
struct refusal {
	char *why;
	size_t room;
};

/* -EINVAL, so that a caller can return the call. */
int refusal__say(struct refusal *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

int options__set_count(const char *option, const char *value, unsigned long long low,
		       unsigned long long high, unsigned long long *count, struct refusal *r);

int options__set_unsigned(const char *option, const char *value, unsigned int low,
			  unsigned int high, unsigned int *number, struct refusal *r);

/* Adds each element; a repeated option replaces the list, as any other is replaced. */
typedef int (*add_fn)(struct load_options *o, const char *item, struct refusal *r);
int options__set_list(struct load_options *o, const char *option, const char *value, add_fn add,
		      size_t *count, struct refusal *r);

/* Of what messages are sent from, when, and on what socket: LOAD_WORKING_SET and after. */
int options__set_sending(struct load_options *o, int key, const char *value, struct refusal *r);
int options__resolve_sending(const struct load_options *o, struct refusal *r);
#define BACKLOG_DEFAULT 4096 /* SOMAXCONN; the kernel's own limit is net.core.somaxconn */

int options__set_serving(struct load_options *o, int key, const char *value, struct refusal *r);
int options__set_ends(struct load_options *o, int key, const char *value, struct refusal *r);
int options__resolve_ends(struct load_options *o, struct refusal *r);

/* What goes together, and what does not: whose option a key is; all of them; each cell. */
void options__note(struct load_options *o, int key);
int options__check_workload(const struct load_options *o, struct refusal *r);
int options__check_cells(const struct load_options *o, struct refusal *r);

#endif
