/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A command that is started, watched from its first instruction, and waited for. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	int pidfd;
	int go; /* writing here lets it run; -1 once it does */
	bool ended;
	int status; /* as waitpid tells, once ended */
};

/* Makes the process, which waits. 0 or -errno. */
int child__start(struct child *c, char *const *command);
/* Lets it run. 0; or -errno if the command cannot be executed. */
int child__run(struct child *c);
/* Has it ended? Then collects its status. */
bool child__ended(struct child *c);
/* The status that a shell would see. */
int child__exit_status(const struct child *c);
/* Ends it if it has not been let run; never one that runs. Closes what was opened. */
void child__free(struct child *c);
