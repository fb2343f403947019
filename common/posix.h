/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What every POSIX program writes for itself once. */
#pragma once

#include <stddef.h>

/* Writes it all, whatever interrupts. 0 or -errno; part of it may then be written. */
int posix__write_all(int fd, const char *text, size_t size);

/* Ends the program by a signal it caught, so that a shell sees why, as of any program. */
void posix__die_by(int sig);
