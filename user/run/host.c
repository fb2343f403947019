// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/run/host.h"

#include "common/json.h"
#include "user/trace/counters.h"

#include <sched.h>
#include <unistd.h>

void host__read(struct host *h)
{
	struct pmu pmus[PMUS_MAX];
	size_t i, count;
	cpu_set_t set;
	bool usable;

	*h = (struct host){};
	uname(&h->names);
	h->nproc = sched_getaffinity(0, sizeof(set), &set) ? (int)sysconf(_SC_NPROCESSORS_ONLN)
							   : CPU_COUNT(&set);
	count = pmu__list(pmus, &usable);
	for (i = 0; i < count && usable; i++)
		text__append(h->pmus, sizeof(h->pmus), "%s%s", i ? "," : "", pmus[i].name);
}

json_object *host__json(const struct host *h)
{
	json_object *o = json_object_new_object();

	json__add_string(o, "name", h->names.nodename);
	json__add_string(o, "kernel", h->names.release);
	json__add_string(o, "arch", h->names.machine);
	json__add(o, "nproc", json_object_new_int(h->nproc));
	json__add_text(o, "pmu", h->pmus);
	return o;
}
