/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Notes signals that end a run early; its counts are still reported. */
#pragma once

#include <sys/types.h>

/*
 * Makes SIGINT, SIGTERM, SIGHUP (unless it is ignored, as by nohup) and SIGQUIT noted from now on;
 * the second one kills this process.
 */
void signals__catch(void);
/* Restores the signals' default effect, in a child that will execute another program. */
void signals__release(void);
/* Returns the caught signal; 0: none. */
int signals__caught(void);
/*
 * Returns, once, the signal that must be passed on to the command; 0: none. The terminal sends its
 * signals to the command, too.
 */
int signals__to_pass_on(void);
/* Makes sig the signal to pass on, once, unless one was caught. */
void signals__pass_on(int sig);
/* Sets a process that the second signal ends, too; 0: none. */
void signals__end_too(pid_t pid);
