// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/system/noise.h"

#include "common/json.h"
#include "common/program.h"
#include "user/system/files.h"

#include <dirent.h>
#include <poll.h>

#define LOOK_MS	  500
#define CPUS_READ 64 /* frequencies of more CPUs add nothing */

static json_object *read_line(const char *path)
{
	char line[512];

	return files__first_line(path, line, sizeof(line)) ? json_object_new_string(line) : NULL;
}

/* Returns the sum or mean of a file that each CPU may have; NULL: none has it. */
static json_object *read_cpus(const char *file, bool mean)
{
	double sum = 0;
	int cpu, found = 0;
	char path[128];
	long value;

	for (cpu = 0; cpu < CPUS_READ; cpu++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/%s", cpu, file);
		if (!files__number(path, &value))
			continue;
		sum += (double)value;
		found++;
	}
	return found ? json_object_new_double(mean ? sum / found : sum) : NULL;
}

/* Returns the ns for which the process's current threads ran, and waited for a CPU; NULL: none. */
static json_object *read_threads(pid_t pid)
{
	char path[64 + 256], line[128];
	unsigned long long ran, waited, all_ran = 0, all_waited = 0;
	const struct dirent *thread;
	json_object *both = NULL;
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	threads = pid ? opendir(path) : NULL;
	while (threads && (thread = readdir(threads))) {
		snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", (int)pid,
			 thread->d_name);
		if (!files__first_line(path, line, sizeof(line)) ||
		    sscanf(line, "%llu %llu", &ran, &waited) != 2)
			continue;
		all_ran += ran;
		all_waited += waited;
		both = both ? both : json_object_new_array();
	}
	if (threads)
		closedir(threads);
	if (both) {
		json_object_array_add(both, json_object_new_uint64(all_ran));
		json_object_array_add(both, json_object_new_uint64(all_waited));
	}
	return both;
}

json_object *noise__read(pid_t sender, pid_t receiver)
{
	json_object *o = json_object_new_object();

	json__add(o, "stat", read_line("/proc/stat"));
	json__add(o, "pressure", read_line("/proc/pressure/cpu"));
	json__add(o, "throttled", read_cpus("thermal_throttle/core_throttle_count", false));
	json__add(o, "khz", read_cpus("cpufreq/scaling_cur_freq", true));
	json__add(o, "sender", read_threads(sender));
	json__add(o, "receiver", read_threads(receiver));
	json__add(o, "time_s", json_object_new_double(elapsed_since(&(struct timespec){})));
	return o;
}

struct ticks {
	double all, busy; /* of all CPUs since boot; busy: user and system */
};

/* Reads the first line of /proc/stat. User time includes the time of guests. */
static struct ticks read_ticks(void)
{
	double t[8] = {};
	char line[512];

	files__first_line("/proc/stat", line, sizeof(line));
	sscanf(line, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &t[0], &t[1], &t[2], &t[3], &t[4],
	       &t[5], &t[6], &t[7]);
	return (struct ticks){t[0] + t[1] + t[2] + t[3] + t[4] + t[5] + t[6] + t[7],
			      t[0] + t[1] + t[2]};
}

double noise__await_quiet(double most_s, bool (*stop)(void *context), void *context)
{
	struct ticks from, to = read_ticks();
	double share;
	int looks = 0;

	do {
		from = to;
		poll(NULL, 0, LOOK_MS);
		to = read_ticks();
		share = to.all > from.all ? (to.busy - from.busy) / (to.all - from.all) : -1;
	} while (share >= NOISE_QUIET && ++looks * LOOK_MS < most_s * 1000 && !stop(context));
	return share;
}
