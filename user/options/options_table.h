/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What options.c parses, and shows; private to it and its tests. */
#pragma once

#include "loadgen/options/help.h"

#include "tables.h" /* made of analysis/tables/options.py */

enum { OPTION_NUMBERS };

extern const struct argp_option options_list[];
const char *options__name(int key);
/* Of the program, of "sweep" and of "exporter". */
extern const struct help options_help, options_help_sweep, options_help_exporter;

struct options;
/* Takes one of the options of exporter. What is wrong ends the program. */
void options__take_exporter(struct options *o, int key, const char *value,
			    struct argp_state *state);
/* Is all there that it needs, and nothing else? Sets defaults. */
void options__check_exporter(struct options *o, struct argp_state *state);
