/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The signals that end a run early, its figures being reported all the same. */
#pragma once

#include <sys/types.h>

/*
 * From now on SIGINT, SIGTERM, SIGHUP (unless it is ignored, as by nohup) and SIGQUIT are noted;
 * the second one kills.
 */
void signals__catch(void);
/* In a child that is to be another program: they do what they did before. */
void signals__release(void);
/* Which came; 0: none. */
int signals__caught(void);
/*
 * The signal that is still to be passed on to the command, once; 0: none. What the
 * terminal sends it has already received.
 */
int signals__to_pass_on(void);
/* From now on that is this one, once, unless one came. */
void signals__pass_on(int sig);
/* The second signal ends this process, too; 0: none. */
void signals__end_too(pid_t pid);
