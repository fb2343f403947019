/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A server model: how one process serves many connections. To add one: a
 * file that defines such a struct, and its line in models.c.
 */
#pragma once

#include <stddef.h>

struct server;

struct serve_ops {
	const char *name;
	/* Concurrent connections that it can hold, and why; 0: as many as the limits allow. */
	unsigned int most;
	const char *limit;
	/* Serves until the process ends; returns only on failure: -errno, words in s->shared. */
	int (*serve)(struct server *s);
};

/* The registered models, in the order of their list. */
extern const struct serve_ops *const serve_models[];
extern const size_t serve_model_count;

/* NULL if there is none of that name. */
const struct serve_ops *models__find(const char *name);
