/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The programs that an observation measures. */
#pragma once

#include "bpf/abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define TARGET_PIDS_MAX 64

struct target {
	bool given; /* false: a load is measured */
	enum target_by by;
	pid_t pids[TARGET_PIDS_MAX]; /* of processes, not of threads */
	size_t pid_count;
	const char *named; /* a process's name, or the path of a control group's folder */
	char **command;	   /* words of the command to start, then NULL; or NULL */
};

/*
 * Sets the target from an option. Returns NULL, or the remedy in words if the value is bad or
 * another target was given. The target keeps pointers to the strings.
 */
const char *target__set(struct target *t, enum target_by by, const char *value);
const char *target__set_command(struct target *t, char **command);

/*
 * Returns the inode of this process's PID namespace, in which its process ids are valid; 0: the
 * initial one.
 */
unsigned int target__pid_namespace(void);

/* Writes a description for people: "pid 17, 18", "command wget -q http://...". */
void target__text(const struct target *t, char *text, size_t size);
