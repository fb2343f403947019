// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/run/host.h"

#include "user/run/host_settings.h"
#include "user/system/first_line.h"
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

	first_line("/sys/class/dmi/id/sys_vendor", line, sizeof(line));
	first_line("/proc/device-tree/compatible", compatible, sizeof(compatible));
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
	first_line(CPUFREQ, h->governor, sizeof(h->governor));
	h->debug_kernel = config_says_debug();
	count = pmu__list(pmus, &h->pmu);
	for (i = 0; i < count && h->pmu; i++)
		used += snprintf(h->pmu_names + used, sizeof(h->pmu_names) - used, "%s%s",
				 i ? "," : "", pmus[i].name);
}

static json_object *string_or_null(const char *s)
{
	return s[0] ? json_object_new_string(s) : NULL;
}

json_object *host__json(const struct host *h)
{
	json_object *o = json_object_new_object();

	json_object_object_add(o, "name", host_name__json());
	json_object_object_add(o, "kernel", json_object_new_string(h->kernel));
	json_object_object_add(o, "arch", json_object_new_string(h->arch));
	json_object_object_add(o, "cpu", string_or_null(h->cpu));
	json_object_object_add(o, "nproc", json_object_new_int(h->nproc));
	json_object_object_add(o, "virtualized", json_object_new_boolean(h->virtualized));
	json_object_object_add(o, "debug_kernel", json_object_new_boolean(h->debug_kernel));
	json_object_object_add(o, "governor", string_or_null(h->governor));
	json_object_object_add(o, "pmu", string_or_null(h->pmu_names));
	json_object_object_add(o, "settings", host_settings__json());
	json_object_object_add(o, "devices", host_devices__json());
	return o;
}

void host__warn(const struct host *h, unsigned int busy_threads,
		void (*add)(void *context, const char *code, const char *text), void *context)
{
	char text[256];

	if (h->governor[0] && strcmp(h->governor, "performance")) {
		snprintf(text, sizeof(text),
			 "CPU frequency governor is \"%s\": times vary with the frequency; "
			 "\"performance\" holds it still",
			 h->governor);
		add(context, "governor", text);
	}
	if (h->debug_kernel)
		add(context, "debug_kernel",
		    "this is a debug kernel: sends cost a multiple of what they cost in "
		    "production");
	if (busy_threads > (unsigned int)h->nproc) {
		snprintf(text, sizeof(text),
			 "%u busy threads share %d CPUs: they wait for each other, and the wall "
			 "times contain that",
			 busy_threads, h->nproc);
		add(context, "few_cpus", text);
	}
	if (!h->pmu)
		add(context, "no_pmu",
		    h->virtualized
			    ? "no PMU in this virtual machine: cycles, instructions and cache "
			      "misses are not supported"
			    : "the PMU cannot be used: cycles, instructions and cache misses are "
			      "not counted");
}
