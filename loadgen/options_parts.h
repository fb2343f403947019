/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What options_values.c leaves to options_serving.c and options_ends.c; private to these. */
#ifndef SENDPATH_OPTIONS_PARTS_H
#define SENDPATH_OPTIONS_PARTS_H

#include "loadgen/options.h"

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
