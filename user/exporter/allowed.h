/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * By which names the exporter is asked. A page in somebody's browser may give a name of its own
 * this machine's address (DNS rebinding), and would read what it is answered.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct allowed_names {
	const char *const *of;
	size_t count;
};

/* A request's Host: an address, localhost or one of the names, with a port or without. */
bool allowed__host(const struct allowed_names *names, const char *host);
