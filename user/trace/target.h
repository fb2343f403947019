/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which programs an observation measures. */
#pragma once

#include "bpf/abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define TARGET_PIDS_MAX 64

struct target {
	bool given; /* false: a load of our own is measured */
	enum target_by by;
	pid_t pids[TARGET_PIDS_MAX]; /* process ids, not threads' */
	size_t pid_count;
	const char *comm;
	const char *cgroup; /* path of its folder */
	char **command;	    /* to be started, NULL-terminated; or NULL */
};

/*
 * Take what an option says. NULL; or the remedy, in words, for what cannot be: of
 * these only one can be given. Strings are borrowed.
 */
const char *target__set_pids(struct target *t, const char *list);
const char *target__set_comm(struct target *t, const char *name);
const char *target__set_cgroup(struct target *t, const char *path);
const char *target__set_all(struct target *t);
const char *target__set_command(struct target *t, char **command);

/* The inode of our own PID namespace, which process ids are of; 0: the initial one. */
unsigned int target__pid_namespace(void);

/* What is observed, for people: "pid 17, 18", "command wget -q http://...". */
void target__text(const struct target *t, char *text, size_t size);
