/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A server's messages on stderr: a few lines per second, and only those that need not wait for a
 * reader. The number of dropped lines is reported as soon as possible. One thread may log.
 */
#pragma once

#include <stdbool.h>

/* Opens stderr anew: O_NONBLOCK would also apply to other processes that share its open file. */
void log__begin(void);

/* Logs one line: printf arguments without the newline. */
void log__line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Tries to report the number of dropped lines. Returns whether some are still not reported. */
bool log__is_behind(void);
void log__end(void);
