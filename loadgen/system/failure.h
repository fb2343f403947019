/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Why something did not work: one line for a person, and the exit status that
 * fits. Functions return a negative errno and leave the words here; the first
 * words win, because what failed first explains the rest.
 */
#pragma once

#include "common/program.h"

struct failure {
	int status; /* 0: nothing failed */
	char text[256];
};

/* Returns err, so that a caller can return the call. */
int failure__set(struct failure *f, int status, int err, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Takes over another's failure unless f has one. */
void failure__adopt(struct failure *f, const struct failure *from);
