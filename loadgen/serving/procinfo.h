/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The two processes with most CPU time, as /proc has them: what the server answers. */
#pragma once

#include <stddef.h>

#define PROCINFO_TOP  2
#define PROCINFO_TEXT 256 /* bytes of an answer at most */

struct procinfo {
	int pid;
	char name[16];			 /* as the kernel has it: anybody can choose one */
	unsigned long long user, system; /* clock ticks */
};

/* Reads a line of /proc/PID/stat; a name may hold anything. 0, or -EINVAL. Pure. */
int procinfo__parse(const char *stat, struct procinfo *p);

/* Keeps the most CPU time first; count is how many top holds so far, and returned. Pure. */
size_t procinfo__keep(struct procinfo *top, size_t count, const struct procinfo *p);

/*
 * A line for each: "pid name user system\n", times in seconds, control characters
 * of names as '?'. Bytes written. Pure.
 */
size_t procinfo__text(const struct procinfo *top, size_t count, char text[PROCINFO_TEXT]);

/* Reads all of /proc. Bytes of the answer, or -errno. */
int procinfo__answer(char text[PROCINFO_TEXT]);
