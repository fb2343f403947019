/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Of send_uring.c, for both variants by io_uring: to have a ring, and to know what it can do. */
#pragma once

#include <liburing.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/program.h"

/* Of Linux 6.2 (e307e6698165): newer than some headers. */
#ifndef IORING_SEND_ZC_REPORT_USAGE
#define IORING_SEND_ZC_REPORT_USAGE  (1U << 3)
#define IORING_NOTIF_USAGE_ZC_COPIED (1U << 31)
#endif

/* With room for so many submissions, and completions. 0 or a negative errno. */
int ring__open(struct io_uring *ring, unsigned int submissions, unsigned int completions,
	       struct failure *f);

/* Can this kernel's io_uring do it? 0, or a negative errno with the reason. */
int ring__probe(int operation, const char *what, char *why, size_t room);

/* Does the kernel say of zero-copy sends whether it copied, if it is asked? */
bool ring__reports_usage(struct io_uring *ring);
