// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What about a machine can be set otherwise, and changes what sends cost: who compares
 * records of two days or machines wants to know it. Read as each run ends.
 */
#include "user/run/host_settings.h"

#include "user/kernel/netdev.h"
#include "user/system/first_line.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

struct setting {
	const char *name;
	const char *path;
};

/* What a kernel lacks is left out of the record. */
static const struct setting settings[] = {
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

json_object *host_settings__json(void)
{
	json_object *o = json_object_new_object();
	char line[256];
	size_t i;

	for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (first_line(settings[i].path, line, sizeof(line)))
			json_object_object_add(o, settings[i].name, json_object_new_string(line));
	return o;
}

/* Of a device that is not up, and of some drivers, the kernel tells no speed, or -1. */
static json_object *number(const char *device, const char *what)
{
	char path[128], line[32];
	long value;

	snprintf(path, sizeof(path), "/sys/class/net/%s/%s", device, what);
	if (!first_line(path, line, sizeof(line)) || sscanf(line, "%ld", &value) != 1 || value < 0)
		return NULL;
	return json_object_new_int64(value);
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

json_object *host_devices__json(void)
{
	json_object *list = json_object_new_array();

	netdev__each(add_device, list);
	return list;
}

json_object *host_name__json(void)
{
	struct utsname names;

	return uname(&names) ? NULL : json_object_new_string(names.nodename);
}
