// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/system/log.h"

#include "common/program.h"

#include <bpf/libbpf.h>
#include <stdarg.h>
#include <stdio.h>

void log_error(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	va_start(args, format);
	program__complain_va(format, args);
	va_end(args);
}

static int print_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_DEBUG ? 0 : vfprintf(stderr, format, args);
}

void log_init(void)
{
	libbpf_set_print(NULL);
}

void log_verbose(void)
{
	libbpf_set_print(print_libbpf);
}
