/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is done with run records afterwards is Python's, and needs no privilege. */
#pragma once

#include <stdbool.h>

/* Is this the name of one of its commands? */
bool analysis__knows(const char *command);

/*
 * Hands over to analysis/, argv beginning with the command, as the user who called sudo
 * and without any capability. Returns an exit status only if it cannot.
 */
int analysis__run(int argc, char **argv);
