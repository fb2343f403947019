/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <json-c/json.h>

#include "loadgen/system/cpus.h"

void cpus__split(struct cpus *c, const cpu_set_t *allowed)
{
	int count = CPU_COUNT(allowed), seen = 0;

	CPU_ZERO(&c->sender);
	CPU_ZERO(&c->receiver);
	c->split = count >= 2;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, allowed))
			CPU_SET(cpu, seen++ < count / 2 ? &c->sender : &c->receiver);
}

void cpus__plan(struct cpus *c)
{
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		CPU_ZERO(&allowed);
	cpus__split(c, &allowed);
}

struct json_object *cpus__json(const cpu_set_t *set)
{
	struct json_object *list = json_object_new_array();

	for (int cpu = 0; list && cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, set))
			json_object_array_add(list, json_object_new_int(cpu));
	return list;
}
