/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A load in the words of the load generator's command line. */
#pragma once

#include "loadgen/options/options.h"

/* An argument vector that owns its strings; NULL after the last. */
struct load_arguments {
	char *values[OPTIONS_MAX + 3]; /* the program and --control as well */
	size_t count;
	int err;
};

/*
 * Every option that makes this load, but those that are 0 as by default; fd: of the control
 * socket. 0 or -ENOMEM; to be freed either way.
 */
int load_arguments__fill(struct load_arguments *a, const char *program, const struct load *load,
			 int fd);
void load_arguments__free(struct load_arguments *a);
