/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Starts a command that is observed from its first instruction, and awaits its end. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	int pidfd;
	int go;	     /* a write starts the command; -1 when it runs */
	bool ending; /* child__end() was called */
	bool ended;
	int status; /* as from waitpid(), once ended */
};

/* Creates the process, which waits. 0 or -errno. */
int child__start(struct child *c, char *const *command);
/* Starts the command. 0; or -errno if it cannot be executed. */
int child__run(struct child *c);
/* Returns whether the command has ended. If it has, collects its status. */
bool child__ended(struct child *c);
/* Returns the exit status that a shell would show. */
int child__exit_status(const struct child *c);
/* Sends SIGTERM to the running command. child__free() awaits its end. */
void child__end(struct child *c);
/*
 * Waits for the end of a process, and kills it after 3 seconds or at a signal. Returns 0; 1 if it
 * was killed; or -errno if it may not be killed.
 */
int child__reap(pid_t pid);
/*
 * Ends a process whose command was not started by child__run(). After child__end(), waits by
 * child__reap(); any other command keeps running. Closes the descriptors.
 */
void child__free(struct child *c);
