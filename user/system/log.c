// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/system/log.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static bool verbose;

void log_error(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

static int print_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
	if (!verbose || level == LIBBPF_DEBUG)
		return 0;
	return vfprintf(stderr, format, args);
}

void log_init(void)
{
	libbpf_set_print(print_libbpf);
}

void log_verbose(void)
{
	verbose = true;
}
