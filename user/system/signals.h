/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The signals that end a run early, its figures being reported all the same. */
#pragma once

/* From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT are noted; the second one kills. */
void signals__catch(void);
/* Which came; 0: none. */
int signals__caught(void);
/*
 * The signal that a command of ours has yet to hear of, once; 0: none. What the
 * terminal sends it has heard already.
 */
int signals__to_pass_on(void);
