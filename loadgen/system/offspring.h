/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The first things a process does that was forked to be one end of the load. */
#ifndef SENDPATH_OFFSPRING_H
#define SENDPATH_OFFSPRING_H

#include <sys/types.h>

/*
 * Dies with its parent, leaves the terminal's signals to it, and keeps none of its
 * descriptors but a, b and the standard three. Ends the process if the parent is
 * gone already.
 */
void offspring__settle(pid_t parent, int a, int b);

#endif
