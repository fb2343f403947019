/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which of the variants that were asked for this kernel has. */
#pragma once

#include <stddef.h>

struct load_options;

/*
 * Probes each: of "every", those that are lacking are left out, each told to skip with
 * the reason; any other is an error, a negative errno with the reason in why.
 */
int available__settle(struct load_options *o, void (*skip)(const char *why), char *why,
		      size_t room);
