// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Opens and reads counters, which threads that start later inherit. Before 6.13 the kernel refuses
 * to read an inherited group at once, so each event is read by itself; the group still ensures that
 * its members count over the same time.
 */
#include "user/trace/counters.h"

#include "bpf/abi.h"
#include "user/system/files.h"
#include "user/system/library.h"

#include "common/json.h"
#include "common/units.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COUNTERS_MAX 96
#define DEVICES	     "/sys/bus/event_source/devices"

#define CACHE_READ_MISS(cache) \
	((cache) | PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16)

struct event {
	const char *name;
	const char *unit;
	__u32 type;
	__u64 config;
	int group; /* events of one group count over the same time */
};

static const struct event events[] = {
	{"cycles", "", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0},
	{"instructions", "", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 0},
	{"branches", "", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 0},
	{"branch-misses", "", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, 0},
	{"LLC-load-misses", "", PERF_TYPE_HW_CACHE, CACHE_READ_MISS(PERF_COUNT_HW_CACHE_LL), 1},
	{"L1-dcache-load-misses", "", PERF_TYPE_HW_CACHE, CACHE_READ_MISS(PERF_COUNT_HW_CACHE_L1D),
	 1},
	{"task-clock", "ns", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 2},
	{"context-switches", "", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 2},
	{"cpu-migrations", "", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, 2},
	{"stalled-cycles-frontend", "", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND,
	 3},
	{"stalled-cycles-backend", "", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND, 3},
	{"page-faults", "", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 2},
};
#define EVENT_COUNT (sizeof(events) / sizeof(events[0]))
#define GROUP_COUNT 4

struct counter_events {
	size_t count;
	struct {
		char *name;
		struct perf_event_attr attr;
	} events[COUNTER_EVENTS_MAX];
};

struct counters {
	size_t count;
	struct counter {
		int fd;		   /* -1: see the status */
		const char *event; /* perf's name */
		const char *unit;  /* "": a plain count */
		char pmu[32];	   /* "": a software event */
		const char *status;
		char reason[96]; /* why it was not counted */
		double value;	 /* scaled by enabled_ns / running_ns if these differ */
		__u64 enabled_ns, running_ns;
	} of[COUNTERS_MAX];
	pid_t pid;
	bool read;
};

#define NOT_COUNTED "not counted"

int counters__open_event(struct perf_event_attr *attr, pid_t pid, int cpu, int leader)
{
	return (int)syscall(SYS_perf_event_open, attr, pid, cpu, leader, PERF_FLAG_FD_CLOEXEC);
}

static void set_common(struct perf_event_attr *attr)
{
	attr->size = sizeof(*attr);
	attr->disabled = 1;
	attr->inherit = 1;
	attr->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
}

/* x86 has a PMU "cpu"; a hybrid CPU has cpu_core and cpu_atom. */
static bool is_core_pmu(const char *name)
{
	return !strcmp(name, "cpu") || !strncmp(name, "cpu_", 4) || !strncmp(name, "armv", 4);
}

static bool can_count_cycles(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
				       .config = PERF_COUNT_HW_CPU_CYCLES};
	int fd;

	set_common(&attr);
	fd = counters__open_event(&attr, 0, -1, -1);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

size_t pmu__list(struct pmu *pmus, bool *usable)
{
	DIR *folder = opendir(DEVICES);
	struct dirent *entry;
	char path[512];
	size_t count = 0;
	long type;

	while (folder && count < PMUS_MAX && (entry = readdir(folder))) {
		if (!is_core_pmu(entry->d_name))
			continue;
		snprintf(path, sizeof(path), DEVICES "/%s/type", entry->d_name);
		if (!files__number(path, &type))
			continue;
		pmus[count].type = (__u32)type;
		snprintf(pmus[count].name, sizeof(pmus[count].name), "%.31s", entry->d_name);
		count++;
	}
	if (folder)
		closedir(folder);
	*usable = can_count_cycles();
	return count;
}

static bool is_missing(int err)
{
	return err == ENOENT || err == ENODEV || err == EOPNOTSUPP || err == EINVAL;
}

static const char *counter_failure(int err)
{
	if (is_missing(err))
		return "this machine has no such counter";
	if (err == EACCES || err == EPERM)
		return "not permitted (needs CAP_PERFMON, or a lower kernel.perf_event_paranoid)";
	return err == ENOSPC || err == EBUSY ? "the counters are taken" : strerror(err);
}

/* Opens and adds a counter, or adds why it cannot be opened. Returns its descriptor, or -1. */
static int add_event(struct counters *c, const char *name, const char *unit, const char *pmu,
		     struct perf_event_attr *attr, int leader)
{
	struct counter *v = &c->of[c->count];

	if (c->count == COUNTERS_MAX)
		return -1;
	c->count++;
	set_common(attr);
	*v = (struct counter){counters__open_event(attr, c->pid, -1, leader), name, unit,
			      .status = "counted"};
	if (v->fd < 0) {
		v->status = is_missing(errno) ? "not supported" : NOT_COUNTED;
		snprintf(v->reason, sizeof(v->reason), "%s", counter_failure(errno));
	}
	snprintf(v->pmu, sizeof(v->pmu), "%s", pmu);
	return v->fd;
}

static void add_standard(struct counters *c, const struct pmu *pmu, bool hybrid)
{
	int leaders[GROUP_COUNT] = {-1, -1, -1, -1};
	struct perf_event_attr attr;
	bool software;
	int fd;

	for (size_t i = 0; i < EVENT_COUNT; i++) {
		software = events[i].type == PERF_TYPE_SOFTWARE;
		if (software != !pmu)
			continue;
		memset(&attr, 0, sizeof(attr));
		attr.type = events[i].type;
		attr.config = events[i].config;
		/* Since 5.13 the upper half may select the PMU (commit 55bcf6ef314a). */
		if (hybrid)
			attr.config |= (__u64)pmu->type << 32;
		fd = add_event(c, events[i].name, events[i].unit, pmu ? pmu->name : "", &attr,
			       leaders[events[i].group]);
		if (leaders[events[i].group] < 0)
			leaders[events[i].group] = fd;
	}
}

int counters__open(struct counters **out, pid_t pid, const struct counter_events *more)
{
	struct counters *c = calloc(1, sizeof(*c));
	static const struct pmu none = {.name = "cpu"};
	struct perf_event_attr attr;
	struct pmu pmus[PMUS_MAX];
	size_t i, count;
	bool usable;

	if (!c)
		return -ENOMEM;
	c->pid = pid;
	count = pmu__list(pmus, &usable);
	for (i = 0; i < count; i++)
		add_standard(c, &pmus[i], count > 1);
	if (!count)
		add_standard(c, &none, false);
	add_standard(c, NULL, false);
	for (i = 0; more && i < more->count; i++) {
		attr = more->events[i].attr;
		add_event(c, more->events[i].name, "", "", &attr, -1);
	}
	*out = c;
	return 0;
}

void counters__enable(struct counters *c, bool enable)
{
	for (size_t i = 0; c && i < c->count; i++)
		if (c->of[i].fd >= 0)
			ioctl(c->of[i].fd, enable ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE,
			      0);
}

static void read_one(struct counter *v)
{
	struct {
		__u64 value, enabled, running;
	} data;

	if (read(v->fd, &data, sizeof(data)) != sizeof(data)) {
		v->status = NOT_COUNTED;
		snprintf(v->reason, sizeof(v->reason), "reading failed: %s", strerror(errno));
		return;
	}
	v->enabled_ns = data.enabled;
	v->running_ns = data.running;
	v->value = (double)data.value;
	if (data.running && data.running < data.enabled)
		v->value *= (double)data.enabled / (double)data.running;
	if (data.enabled && !data.running) {
		v->status = NOT_COUNTED;
		snprintf(v->reason, sizeof(v->reason), "the PMU had no counter free for it");
	}
}

void counters__read(struct counters *c)
{
	for (size_t i = 0; c && i < c->count; i++)
		if (c->of[i].fd >= 0)
			read_one(&c->of[i]);
	if (c)
		c->read = true;
}

void counters__add_json(const struct counters *c, const char *scope, json_object *list)
{
	json_object *o;

	if (!c || !c->read)
		return;
	for (const struct counter *v = c->of; v < c->of + c->count; v++) {
		o = json_object_new_object();
		json__add_string(o, "event", v->event);
		json__add_text(o, "pmu", v->pmu);
		json__add_string(o, "scope", scope);
		json__add(o, "value", json_object_new_double(v->value));
		json__add_string(o, "unit", v->unit);
		json__add_count(o, "enabled_ns", v->enabled_ns);
		json__add_count(o, "running_ns", v->running_ns);
		json__add_string(o, "status", v->status);
		json__add_string(o, "reason", v->reason);
		json_object_array_add(list, o);
	}
}

void counters__free(struct counters *c)
{
	for (size_t i = 0; c && i < c->count; i++)
		if (c->of[i].fd >= 0)
			close(c->of[i].fd);
	free(c);
}

/* libpfm4, which is loaded on demand: its tables take 2 MiB. */
static struct {
	typeof(pfm_initialize) *initialize;
	typeof(pfm_get_os_event_encoding) *encode;
	typeof(pfm_strerror) *why;
} pfm;

static bool load_pfm(void)
{
	void *library = LIBRARY_LOAD("libpfm.so.4");

	if (!library)
		return false;
	pfm.initialize = LIBRARY_FIND(library, pfm_initialize);
	pfm.encode = LIBRARY_FIND(library, pfm_get_os_event_encoding);
	pfm.why = LIBRARY_FIND(library, pfm_strerror);
	return pfm.initialize() == PFM_SUCCESS;
}

/* Adds an event. Returns NULL, or why that failed. */
static const char *encode(struct counter_events *e, const char *name, size_t max)
{
	pfm_perf_encode_arg_t arg = {.size = sizeof(arg), .attr = &e->events[e->count].attr};
	int err;

	if (e->count == max)
		return units__text("more than %zu events", max);
	err = pfm.encode(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &arg);
	if (err != PFM_SUCCESS)
		return pfm.why(err);
	e->events[e->count].name = strdup(name);
	return e->events[e->count++].name ? NULL : strerror(ENOMEM);
}

int counter_events__parse(struct counter_events **out, const char *option, const char *list,
			  size_t max, struct failure *f)
{
	struct counter_events *e = calloc(1, sizeof(*e));
	char *copy = strdup(list), *rest = copy, *name = NULL;
	const char *why = !e || !copy	? strerror(ENOMEM)
			  : !load_pfm() ? "libpfm4 cannot be loaded"
					: NULL;

	*out = e;
	while (!why && (name = strsep(&rest, ",")))
		why = *name ? encode(e, name, max) : NULL;
	if (why)
		failure__set(f, STATUS_USAGE, -EINVAL,
			     "%s %s: %s (showevtinfo of libpfm4 lists the names)", option,
			     name ? name : list, why);
	free(copy);
	return why ? -EINVAL : 0;
}

size_t counter_events__count(const struct counter_events *e)
{
	return e ? e->count : 0;
}

json_object *counter_events__json(const struct counter_events *e)
{
	json_object *list = json_object_new_array();

	for (size_t i = 0; e && i < e->count; i++)
		json_object_array_add(list, json_object_new_string(e->events[i].name));
	return list;
}

void counter_events__free(struct counter_events *e)
{
	for (size_t i = 0; e && i < e->count; i++)
		free(e->events[i].name);
	free(e);
}

struct call_counters {
	size_t count;
	int fds[];
};

/*
 * Opens the events on a CPU. They are pinned, because a send is too short to extrapolate the count
 * of a multiplexed counter. ENODEV means that the CPU is offline, so that no thread sends from it.
 */
static int open_on_cpu(struct call_counters *c, const struct counter_events *events, int map_fd,
		       int cpu)
{
	struct perf_event_attr attr;
	__u32 key;
	int fd;

	for (size_t i = 0; i < events->count; i++) {
		attr = events->events[i].attr;
		attr.size = sizeof(attr);
		attr.pinned = 1;
		attr.disabled = 0;
		fd = counters__open_event(&attr, -1, cpu, -1);
		if (fd < 0)
			return errno == ENODEV ? 0 : -errno;
		c->fds[c->count++] = fd;
		key = (__u32)cpu * CALL_COUNTERS_MAX + (__u32)i;
		if (bpf_map_update_elem(map_fd, &key, &fd, BPF_ANY))
			return -errno;
	}
	return 0;
}

int call_counters__open(struct call_counters **out, const struct counter_events *events, int map_fd,
			struct failure *f)
{
	int cpu, err = 0, cpus = libbpf_num_possible_cpus();
	struct call_counters *c;

	if (cpus < 0)
		return cpus;
	c = calloc(1, sizeof(*c) + sizeof(c->fds[0]) * (size_t)cpus * CALL_COUNTERS_MAX);
	if (!c)
		return -ENOMEM;
	for (cpu = 0; cpu < cpus && !err; cpu++)
		err = open_on_cpu(c, events, map_fd, cpu);
	if (!err && !c->count)
		err = -ENODEV;
	failure__set(f, STATUS_SYSTEM, err, "--call-counters %s: %s",
		     events->events[c->count % events->count].name, counter_failure(-err));
	if (err)
		call_counters__free(c);
	else
		*out = c;
	return err;
}

void call_counters__free(struct call_counters *c)
{
	for (size_t i = 0; c && i < c->count; i++)
		close(c->fds[i]);
	free(c);
}

const char *call_counters__always_zero(const struct counter_events *events)
{
	const struct perf_event_attr *attr;

	for (size_t i = 0; i < counter_events__count(events); i++) {
		attr = &events->events[i].attr;
		if (attr->type != PERF_TYPE_SOFTWARE)
			continue;
		if (attr->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
		    attr->config == PERF_COUNT_SW_CPU_MIGRATIONS ||
		    attr->config == PERF_COUNT_SW_CGROUP_SWITCHES)
			return events->events[i].name;
	}
	return NULL;
}
