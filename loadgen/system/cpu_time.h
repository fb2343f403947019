/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Processor time of a process. */
#ifndef SENDPATH_CPU_TIME_H
#define SENDPATH_CPU_TIME_H

struct cpu_time {
	double user_s;
	double system_s;
};

/* Of the calling process, all its threads, so far. */
struct cpu_time cpu_time__own(void);

#endif
