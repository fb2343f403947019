/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <argp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/one_line.h"

/*
 * For an option that getopt refuses, argp has no switch to leave out its second
 * line, "Try `x --help' ...": its stream drops that line instead.
 */
static ssize_t drop_hint(void *cookie, const char *text, size_t length)
{
	(void)cookie;
	if (length < 4 || strncmp(text, "Try ", 4))
		fwrite(text, 1, length, stderr);
	return (ssize_t)length;
}

void one_line__errors(struct argp_state *state)
{
	FILE *stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = drop_hint});

	if (!stream)
		return;
	setvbuf(stream, NULL, _IOLBF, 0);
	state->err_stream = stream; /* as long as the process: argp exits through it */
}
