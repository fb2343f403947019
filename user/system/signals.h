/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Notes signals that end a run early. The counts of the run are still reported. */
#pragma once

#include <sys/types.h>

/*
 * From now on, notes SIGINT, SIGTERM, SIGHUP (unless it is ignored, as by nohup) and SIGQUIT; the
 * second signal kills this process.
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
/* Makes sig the signal to pass on, unless one was caught. Only the first call has an effect. */
void signals__pass_on(int sig);
/* Sets a process that the second signal kills, too; 0: none. */
void signals__end_too(pid_t pid);
