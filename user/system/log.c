// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/system/log.h"

#include <bpf/libbpf.h>
#include <stdio.h>

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
