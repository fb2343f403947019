/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Signals that end a run early; its figures are still reported. */
#pragma once

#include <sys/types.h>

/*
 * From now on SIGINT, SIGTERM, SIGHUP (unless it is ignored, as by nohup) and SIGQUIT are noted;
 * the second one kills.
 */
void signals__catch(void);
/* In a child that will execute another program: restores the signals' earlier effect. */
void signals__release(void);
/* The signal that came; 0: none. */
int signals__caught(void);
/*
 * The signal that must still be passed on to the command, once; 0: none. A signal from the terminal
 * has reached the command already.
 */
int signals__to_pass_on(void);
/* Makes this the signal to pass on, once, unless one came. */
void signals__pass_on(int sig);
/* Sets a process that the second signal ends, too; 0: none. */
void signals__end_too(pid_t pid);
