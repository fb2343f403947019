// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/call_counters.h"

#include "bpf/abi.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct call_counters {
	size_t count;
	int fds[];
};

/* Pinned: a counter that shares its place would be extrapolated, and a send is too short for that.
 */
static int open_on(const struct counter_events *events, size_t i, int cpu)
{
	struct perf_event_attr attr = *counter_events__attr(events, i);
	int fd;

	attr.size = sizeof(attr);
	attr.pinned = 1;
	attr.disabled = 0;
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* ENODEV is a CPU that is offline: nothing is sent from it. */
static int open_all(struct call_counters *c, const struct counter_events *events, int map_fd,
		    int cpu)
{
	__u32 key;
	size_t i;
	int fd;

	for (i = 0; i < counter_events__count(events); i++) {
		fd = open_on(events, i, cpu);
		if (fd == -ENODEV)
			return 0;
		if (fd < 0)
			return fd;
		c->fds[c->count++] = fd;
		key = (__u32)cpu * CALL_COUNTERS_MAX + (__u32)i;
		if (bpf_map_update_elem(map_fd, &key, &fd, BPF_ANY))
			return -errno;
	}
	return 0;
}

int call_counters__open(struct call_counters **out, const struct counter_events *events, int map_fd,
			char *reason, size_t size)
{
	int cpu, err = 0, cpus = libbpf_num_possible_cpus();
	struct call_counters *c;

	if (cpus < 0)
		return cpus;
	c = calloc(1, sizeof(*c) + sizeof(c->fds[0]) * (size_t)cpus * CALL_COUNTERS_MAX);
	if (!c)
		return -ENOMEM;
	for (cpu = 0; cpu < cpus && !err; cpu++)
		err = open_all(c, events, map_fd, cpu);
	if (!err && !c->count)
		err = -ENODEV;
	if (err) {
		snprintf(reason, size, "--call-counters %s: %s",
			 counter_events__name(events, c->count % counter_events__count(events)),
			 counter_failure(-err));
		call_counters__free(c);
		return err;
	}
	*out = c;
	return 0;
}

void call_counters__free(struct call_counters *c)
{
	size_t i;

	for (i = 0; c && i < c->count; i++)
		close(c->fds[i]);
	free(c);
}

const char *call_counters__always_zero(const struct counter_events *events)
{
	const struct perf_event_attr *attr;
	size_t i;

	for (i = 0; i < counter_events__count(events); i++) {
		attr = counter_events__attr(events, i);
		if (attr->type != PERF_TYPE_SOFTWARE)
			continue;
		if (attr->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
		    attr->config == PERF_COUNT_SW_CPU_MIGRATIONS ||
		    attr->config == PERF_COUNT_SW_CGROUP_SWITCHES)
			return counter_events__name(events, i);
	}
	return NULL;
}
