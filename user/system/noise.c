// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/system/noise.h"

#include "user/system/files.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A guest's own time stands in user already. */
enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, KINDS };

#define LOOK_MS	  500
#define CPUS_READ 64 /* frequencies of more are no better known */

int cpu_ticks__parse(const char *line, struct cpu_ticks *ticks)
{
	unsigned long long t[KINDS];
	size_t i;

	if (sscanf(line, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[USER], &t[NICE],
		   &t[SYSTEM], &t[IDLE], &t[IOWAIT], &t[IRQ], &t[SOFTIRQ], &t[STEAL]) != KINDS)
		return -EINVAL;
	*ticks = (struct cpu_ticks){.busy = t[USER] + t[NICE] + t[SYSTEM],
				    .irq = t[IRQ] + t[SOFTIRQ],
				    .steal = t[STEAL]};
	for (i = 0; i < KINDS; i++)
		ticks->all += t[i];
	return 0;
}

static double read_pressure(void)
{
	unsigned long long us;
	char line[128];
	const char *total = files__first_line("/proc/pressure/cpu", line, sizeof(line))
				    ? strstr(line, "total=")
				    : NULL;

	return total && sscanf(total, "total=%llu", &us) == 1 ? (double)us / 1e6 : NOISE_UNKNOWN;
}

/* The sum or the mean of a file of each CPU that has it. */
static double read_cpus(const char *file, bool mean)
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
	return !found ? NOISE_UNKNOWN : mean ? sum / found : sum;
}

/* Of the threads that live now. */
static bool read_threads(pid_t pid, double *ran_s, double *waited_s)
{
	char path[64 + 256], line[128];
	unsigned long long ran, waited;
	const struct dirent *thread;
	bool found = false;
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	threads = pid ? opendir(path) : NULL;
	*ran_s = *waited_s = 0;
	while (threads && (thread = readdir(threads))) {
		snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", (int)pid,
			 thread->d_name);
		if (!files__first_line(path, line, sizeof(line)) ||
		    sscanf(line, "%llu %llu", &ran, &waited) != 2)
			continue;
		*ran_s += (double)ran / 1e9;
		*waited_s += (double)waited / 1e9;
		found = true;
	}
	if (threads)
		closedir(threads);
	return found;
}

void noise__read(struct noise_totals *now, const pid_t pids[NOISE_SIDES])
{
	struct timespec time;
	char line[512];
	size_t i;

	*now = (struct noise_totals){};
	if (files__first_line("/proc/stat", line, sizeof(line)))
		cpu_ticks__parse(line, &now->ticks);
	now->pressure_s = read_pressure();
	now->throttled = read_cpus("thermal_throttle/core_throttle_count", false);
	now->khz = read_cpus("cpufreq/scaling_cur_freq", true);
	for (i = 0; i < NOISE_SIDES; i++)
		if (!read_threads(pids[i], &now->ran_s[i], &now->waited_s[i]))
			now->ran_s[i] = NOISE_UNKNOWN;
	clock_gettime(CLOCK_MONOTONIC, &time);
	now->time_s = (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Some kernels' counts run backwards a little. */
static unsigned long long risen(unsigned long long from, unsigned long long to)
{
	return to > from ? to - from : 0;
}

static double share(double part, double whole)
{
	return part < whole ? part / whole : 1;
}

static void compare_ticks(struct noise *n, const struct cpu_ticks *from, const struct cpu_ticks *to)
{
	double all = (double)risen(from->all, to->all), hz = (double)sysconf(_SC_CLK_TCK);

	if (!from->all || all < NOISE_TICKS)
		return;
	n->all_s = all / hz;
	n->busy_s = (double)risen(from->busy, to->busy) / hz;
	n->irq_share = share((double)risen(from->irq, to->irq), all);
	n->steal_share = share((double)risen(from->steal, to->steal), all);
}

/* Threads that ended meanwhile took their times with them. */
static double waited_share(double ran_s, double waited_s)
{
	if (ran_s < 0 || waited_s < 0 || ran_s + waited_s <= 0)
		return NOISE_UNKNOWN;
	return waited_s / (ran_s + waited_s);
}

struct noise noise__between(const struct noise_totals *from, const struct noise_totals *to)
{
	struct noise n = {.all_s = NOISE_UNKNOWN,
			  .busy_s = NOISE_UNKNOWN,
			  .irq_share = NOISE_UNKNOWN,
			  .steal_share = NOISE_UNKNOWN,
			  .pressure_share = NOISE_UNKNOWN,
			  .throttled = NOISE_UNKNOWN,
			  .slowdown = NOISE_UNKNOWN,
			  .waited_share = {NOISE_UNKNOWN, NOISE_UNKNOWN}};
	size_t i;

	compare_ticks(&n, &from->ticks, &to->ticks);
	if (from->pressure_s >= 0 && to->pressure_s >= 0 && to->time_s > from->time_s)
		n.pressure_share =
			share(to->pressure_s - from->pressure_s, to->time_s - from->time_s);
	if (from->throttled >= 0 && to->throttled >= from->throttled)
		n.throttled = to->throttled - from->throttled;
	if (from->khz > 0 && to->khz > 0)
		n.slowdown = to->khz < from->khz ? 1 - to->khz / from->khz : 0;
	for (i = 0; i < NOISE_SIDES; i++)
		if (from->ran_s[i] >= 0 && to->ran_s[i] >= 0)
			n.waited_share[i] = waited_share(to->ran_s[i] - from->ran_s[i],
							 to->waited_s[i] - from->waited_s[i]);
	return n;
}

double noise__await_quiet(double most_s, bool (*stop)(void *context), void *context)
{
	static const pid_t nobody[NOISE_SIDES];
	struct noise_totals first, from, to;
	struct noise n;

	noise__read(&first, nobody);
	to = first;
	do {
		from = to;
		poll(NULL, 0, LOOK_MS);
		noise__read(&to, nobody);
		n = noise__between(&from, &to);
	} while (n.all_s > 0 && n.busy_s / n.all_s >= NOISE_QUIET &&
		 to.time_s - first.time_s < most_s && !stop(context));
	return n.all_s > 0 ? n.busy_s / n.all_s : NOISE_UNKNOWN;
}
