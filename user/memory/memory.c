// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/memory/memory.h"

#include "user/system/files.h"

#include "common/json.h"

#include "tables.h" /* generated from analysis/tables/memory.py */

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES "bus/event_source/devices"

#define SOURCE_EVENTS 8
#define EVENTS_MAX    (MEMORY_KIND_COUNT * SOURCE_EVENTS)
#define NAME_SIZE     80

enum memory_kind { MEMORY_KIND_NUMBERS, MEMORY_KIND_COUNT };

/* A source exists if its first event does. The first existing source of each kind is used. */
static const struct source {
	enum memory_kind kind;
	struct event {
		const char *pmu;  /* device without its number; NULL: perf names the event */
		const char *name; /* NULL ends the list */
	} events[SOURCE_EVENTS + 1];
} sources[] = {MEMORY_SOURCE_ROWS};

struct memory {
	char *names;	   /* all names of perf list, separated by blanks */
	unsigned int line; /* size of a line of the last-level cache; 0: unknown */
	size_t count;
	struct counted_event {
		enum memory_kind kind;
		char name[NAME_SIZE]; /* as for perf's -e */
	} events[EVENTS_MAX];
};

/* Returns /sys, or its replacement in a test. */
static const char *sysfs_root(void)
{
	const char *root = getenv("SENDPATH_SYSFS");

	return root && root[0] ? root : "/sys";
}

/* Returns whether a device has the event. A device's boxes have its name and a number. */
static bool device_has(const char *pmu, const char *event)
{
	char pattern[1024];
	glob_t found;
	bool any;

	snprintf(pattern, sizeof(pattern), "%s/" DEVICES "/%s{,_[0-9]*}/events/%s", sysfs_root(),
		 pmu, event);
	any = !glob(pattern, GLOB_BRACE | GLOB_NOSORT, NULL, &found);
	globfree(&found);
	return any;
}

static bool perf_lists(const char *names, const char *event)
{
	size_t length = strlen(event);
	const char *at = names;

	while ((at = strcasestr(at, event))) {
		if ((at == names || strchr(" \n/", at[-1])) && strchr(" \n/", at[length]))
			return true;
		at += length;
	}
	return false;
}

static bool has(const struct memory *m, const struct event *e)
{
	return e->pmu ? device_has(e->pmu, e->name) : perf_lists(m->names, e->name);
}

static void add_source(struct memory *m, const struct source *s)
{
	struct counted_event *event;

	for (const struct event *e = s->events; e->name; e++) {
		if (!has(m, e))
			continue;
		event = &m->events[m->count++];
		event->kind = s->kind;
		snprintf(event->name, sizeof(event->name), e->pmu ? "%s/%s/" : "%s%s",
			 e->pmu ? e->pmu : "", e->name);
	}
}

static void choose(struct memory *m)
{
	bool found[MEMORY_KIND_COUNT] = {};
	const struct source *s;

	for (s = sources; s < sources + sizeof(sources) / sizeof(sources[0]); s++)
		if (!found[s->kind] && has(m, s->events)) {
			found[s->kind] = true;
			add_source(m, s);
		}
}

/* Returns the line size of the last-level cache of the first CPU in bytes; 0: unknown. */
static unsigned int line_size(void)
{
	long size = 0;
	char path[1024];

	for (unsigned int i = 0; i < 8; i++) {
		snprintf(path, sizeof(path),
			 "%s/devices/system/cpu/cpu0/cache/index%u/coherency_line_size",
			 sysfs_root(), i);
		files__number(path, &size);
	}
	return (unsigned int)size;
}

int memory__open(struct memory **out, struct failure *f)
{
	struct memory *m = calloc(1, sizeof(*m));
	int err = m ? perf_stat__list(&m->names) : -ENOMEM;

	if (!err) {
		m->line = line_size();
		choose(m);
		*out = m;
		return 0;
	}
	free(m);
	return failure__set(f, err == -ENOENT ? STATUS_SYSTEM : STATUS_FAILED, err, "--memory: %s",
			    err == -ENOENT ? "perf is missing: install it (Debian: linux-perf)"
			    : err == -EIO  ? "perf list fails: run it to see why"
					   : strerror(-err));
}

void memory__free(struct memory *m)
{
	if (m)
		free(m->names);
	free(m);
}

bool memory__has_events(const struct memory *m)
{
	return m->count;
}

/* Writes the names of the events. Returns false if there is none. */
static bool name_events(const struct memory *m, bool memory_alone, char *list, size_t room)
{
	list[0] = 0;
	for (size_t i = 0; i < m->count; i++)
		if (!memory_alone || m->events[i].kind == MEMORY_KIND_MEMORY)
			text__append(list, room, "%s%s", list[0] ? "," : "", m->events[i].name);
	return list[0];
}

/* perf refuses all events if it refuses one. Then the events of memory are tried alone. */
void memory__begin(struct memory_run *r, const struct memory *m)
{
	char list[EVENTS_MAX * NAME_SIZE];

	*r = (struct memory_run){.memory = m};
	if (!m)
		return;
	if (!name_events(m, false, list, sizeof(list))) {
		snprintf(r->reason, sizeof(r->reason),
			 "not supported: this machine shows no counters of the memory system");
		return;
	}
	if (!perf_stat__start(&r->perf, list, r->reason, sizeof(r->reason)))
		return;
	snprintf(r->io_reason, sizeof(r->io_reason), "%s", r->reason);
	if (name_events(m, true, list, sizeof(list)))
		perf_stat__start(&r->perf, list, r->reason, sizeof(r->reason));
}

void memory__count(struct memory_run *r, bool on)
{
	int err = r->perf ? perf_stat__count(r->perf, on) : 0;

	if (err) {
		free(perf_stat__finish(r->perf));
		r->perf = NULL;
		snprintf(r->reason, sizeof(r->reason), "perf stat: %s", strerror(-err));
	} else if (r->perf && !on) {
		r->counted = true;
	}
}

void memory__end(struct memory_run *r)
{
	if (r->perf)
		r->text = perf_stat__finish(r->perf);
	r->perf = NULL;
}

json_object *memory__json(const struct memory_run *r)
{
	json_object *o, *names;

	if (!r->memory)
		return NULL;
	o = json_object_new_object();
	names = json_object_new_array();
	for (size_t i = 0; i < r->memory->count; i++)
		json_object_array_add(names, json_object_new_string(r->memory->events[i].name));
	json__add(o, "asked", names);
	json__add_truth(o, "counted", r->counted);
	json__add_string(o, "reason", r->reason);
	json__add_string(o, "io_reason", r->io_reason);
	json__add_count(o, "line", r->memory->line);
	json__add_string(o, "text", r->text ? r->text : "");
	return o;
}
