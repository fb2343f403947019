/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <sys/resource.h>

#include "loadgen/system/cpu_time.h"

struct cpu_time cpu_time__own(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (struct cpu_time){
		.user_s = (double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec / 1e6,
		.system_s = (double)u.ru_stime.tv_sec + (double)u.ru_stime.tv_usec / 1e6,
	};
}
