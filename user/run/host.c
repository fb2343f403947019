// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/run/host.h"

#include "user/kernel/netdev.h"
#include "user/system/files.h"
#include "user/trace/counters.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define CPUFREQ "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"

/* x86 names its processor and says "hypervisor" among the flags; arm64 does neither. */
static void read_cpuinfo(struct host *h)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[8192];
	const char *value;

	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		value = strchr(line, ':');
		if (!value)
			continue;
		value += 1 + (value[1] == ' ');
		if (!strncmp(line, "model name", 10) && !h->cpu[0])
			snprintf(h->cpu, sizeof(h->cpu), "%.127s", value);
		if (!strncmp(line, "flags", 5) && strstr(value, " hypervisor"))
			h->virtualized = true;
	}
	if (file)
		fclose(file);
}

/* Firmware that an emulator made says so on every architecture. */
static void read_firmware(struct host *h)
{
	static const char *const makers[] = {"QEMU", "KVM",	   "VMware",
					     "Xen",  "Amazon EC2", "Google Compute Engine"};
	char line[128], compatible[128];
	size_t i;

	files__first_line("/sys/class/dmi/id/sys_vendor", line, sizeof(line));
	files__first_line("/proc/device-tree/compatible", compatible, sizeof(compatible));
	for (i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
		if (strstr(line, makers[i]))
			h->virtualized = true;
	if (!strcmp(compatible, "linux,dummy-virt"))
		h->virtualized = true;
}

/* Options that slow sending down by a large factor. */
static bool config_says_debug(void)
{
	static const char *const options[] = {"CONFIG_PROVE_LOCKING=y", "CONFIG_KASAN=y",
					      "CONFIG_DEBUG_PAGEALLOC_ENABLE_DEFAULT=y",
					      "CONFIG_SLUB_DEBUG_ON=y", "CONFIG_KCSAN=y"};
	struct utsname names;
	char path[256], line[512];
	bool debug = false;
	FILE *file;
	size_t i;

	uname(&names);
	snprintf(path, sizeof(path), "/boot/config-%s", names.release);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		for (i = 0; i < sizeof(options) / sizeof(options[0]); i++)
			debug |= !strcmp(line, options[i]);
	}
	if (file)
		fclose(file);
	/* Without a configuration file: lockdep is what most debug kernels have. */
	return debug || !access("/proc/lockdep", F_OK);
}

static int usable_cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? (int)sysconf(_SC_NPROCESSORS_ONLN)
						       : CPU_COUNT(&set);
}

void host__read(struct host *h)
{
	struct pmu pmus[PMUS_MAX];
	struct utsname names;
	size_t i, count, used = 0;

	memset(h, 0, sizeof(*h));
	uname(&names);
	snprintf(h->kernel, sizeof(h->kernel), "%s", names.release);
	snprintf(h->arch, sizeof(h->arch), "%s", names.machine);
	h->nproc = usable_cpus();
	read_cpuinfo(h);
	read_firmware(h);
	files__first_line(CPUFREQ, h->governor, sizeof(h->governor));
	h->debug_kernel = config_says_debug();
	count = pmu__list(pmus, &h->pmu);
	for (i = 0; i < count && h->pmu; i++)
		used += snprintf(h->pmu_names + used, sizeof(h->pmu_names) - used, "%s%s",
				 i ? "," : "", pmus[i].name);
}

/*
 * What about a machine can be set otherwise, and changes what sends cost: read as each run
 * ends. What a kernel lacks is left out of the record.
 */
static const struct {
	const char *name, *path;
} settings[] = {
	{"tcp_congestion_control", "/proc/sys/net/ipv4/tcp_congestion_control"},
	{"tcp_wmem", "/proc/sys/net/ipv4/tcp_wmem"},
	{"tcp_rmem", "/proc/sys/net/ipv4/tcp_rmem"},
	{"tcp_notsent_lowat", "/proc/sys/net/ipv4/tcp_notsent_lowat"},
	{"wmem_max", "/proc/sys/net/core/wmem_max"},
	{"rmem_max", "/proc/sys/net/core/rmem_max"},
	{"optmem_max", "/proc/sys/net/core/optmem_max"},
	{"somaxconn", "/proc/sys/net/core/somaxconn"},
	{"default_qdisc", "/proc/sys/net/core/default_qdisc"},
	{"transparent_hugepage", "/sys/kernel/mm/transparent_hugepage/enabled"},
	{"clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource"},
	{"smt", "/sys/devices/system/cpu/smt/control"},
	{"boost", "/sys/devices/system/cpu/cpufreq/boost"},
	{"no_turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo"},
	{"meltdown", "/sys/devices/system/cpu/vulnerabilities/meltdown"},
	{"retbleed", "/sys/devices/system/cpu/vulnerabilities/retbleed"},
	{"spectre_v2", "/sys/devices/system/cpu/vulnerabilities/spectre_v2"},
};

static json_object *settings_json(void)
{
	json_object *o = json_object_new_object();
	char line[256];
	size_t i;

	for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (files__first_line(settings[i].path, line, sizeof(line)))
			json_object_object_add(o, settings[i].name, json_object_new_string(line));
	return o;
}

/* Of a device that is not up, and of some drivers, the kernel tells no speed, or -1. */
static json_object *number(const char *device, const char *what)
{
	char path[128];
	long value;

	snprintf(path, sizeof(path), "/sys/class/net/%s/%s", device, what);
	return files__number(path, &value) && value >= 0 ? json_object_new_int64(value) : NULL;
}

/* Virtual ones come and go with containers, by the hundred. */
static bool is_hardware(const struct netdev *d)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/class/net/%s/device", d->name);
	return !access(path, F_OK);
}

static void add_device(void *list, const struct netdev *d)
{
	json_object *o;

	if (!is_hardware(d))
		return;
	o = json_object_new_object();
	json_object_object_add(o, "name", json_object_new_string(d->name));
	json_object_object_add(o, "driver",
			       d->driver[0] ? json_object_new_string(d->driver) : NULL);
	json_object_object_add(o, "mtu_bytes", number(d->name, "mtu"));
	json_object_object_add(o, "speed_mbit", number(d->name, "speed"));
	json_object_object_add(o, "scatter_gather", json_object_new_boolean(d->scatter_gather));
	json_object_object_add(o, "checksum", json_object_new_boolean(d->checksum));
	json_object_object_add(o, "segmentation", json_object_new_boolean(d->segmentation));
	json_object_array_add(list, o);
}

static json_object *devices_json(void)
{
	json_object *list = json_object_new_array();

	netdev__each(add_device, list);
	return list;
}

static json_object *string_or_null(const char *s)
{
	return s[0] ? json_object_new_string(s) : NULL;
}

json_object *host__json(const struct host *h)
{
	json_object *o = json_object_new_object();
	struct utsname names;

	uname(&names);
	json_object_object_add(o, "name", json_object_new_string(names.nodename));
	json_object_object_add(o, "kernel", json_object_new_string(h->kernel));
	json_object_object_add(o, "arch", json_object_new_string(h->arch));
	json_object_object_add(o, "cpu", string_or_null(h->cpu));
	json_object_object_add(o, "nproc", json_object_new_int(h->nproc));
	json_object_object_add(o, "virtualized", json_object_new_boolean(h->virtualized));
	json_object_object_add(o, "debug_kernel", json_object_new_boolean(h->debug_kernel));
	json_object_object_add(o, "governor", string_or_null(h->governor));
	json_object_object_add(o, "pmu", string_or_null(h->pmu_names));
	json_object_object_add(o, "settings", settings_json());
	json_object_object_add(o, "devices", devices_json());
	return o;
}
