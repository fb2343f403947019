/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a server says on stderr: a few lines a second, and none that it would have to wait for,
 * whoever reads them. How many were left out is said as soon as it can be. One thread may log.
 */
#pragma once

#include <stdbool.h>

/* Opens stderr anew, as O_NONBLOCK would hold for whoever shares the file that it is. */
void log__begin(void);

/* printf arguments without the newline. */
void log__line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Is there still something to say of lines that were left out? Tries to; at the end once more. */
bool log__is_behind(void);
void log__end(void);
