/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files share that say what the load's options mean; private to these. */
#ifndef SENDPATH_OPTIONS_PARTS_H
#define SENDPATH_OPTIONS_PARTS_H

#include "loadgen/options.h"

/* Where the words of a refusal go. */
struct refusal {
	char *why;
	size_t room;
};

/* -EINVAL, so that a caller can return the call. */
int refusal__say(struct refusal *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

int options__set_count(const char *option, const char *value, unsigned long long low,
		       unsigned long long high, unsigned long long *count, struct refusal *r);

/* Of what messages are sent from, when, and on what socket: LOAD_WORKING_SET and after. */
int options__set_sending(struct load_options *o, int key, const char *value, struct refusal *r);
/* Takes from a load what its variant, one of several, does not have. */
void load_options__fit(struct load *load);
int options__resolve_sending(const struct load_options *o, struct refusal *r);
#define BACKLOG_DEFAULT 4096 /* SOMAXCONN; the kernel's own limit is net.core.somaxconn */

/* As load_options__set() and load_options__resolve(), of some options alone. */
int load_options__set_serving(struct load_options *o, int key, const char *value, char *why,
			      size_t room);
int load_options__resolve_serving(struct load_options *o, char *why, size_t room);

int load_options__set_ends(struct load_options *o, int key, const char *value, char *why,
			   size_t room);
int load_options__resolve_ends(struct load_options *o, char *why, size_t room);

struct load load_options__serving_cell(const struct load_options *o, size_t model,
				       size_t connections);

#endif
