// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/sweep/sweep_private.h"

#include "common/program.h"
#include "user/record/record_parts.h"
#include "user/report/record_read.h"
#include "user/run/generator.h"

#include <stdio.h>
#include <string.h>

#define SCHEMA "sendpath.plan/1"

/* All that the load generator is told, but where our socket is. */
static json_object *load_json(const struct load *load)
{
	struct load_arguments arguments;
	json_object *list = NULL;
	size_t i;

	if (!load_arguments__fill(&arguments, "", load, 0))
		list = json_object_new_array();
	for (i = 1; list && i + 1 < arguments.count; i++)
		json_object_array_add(list, json_object_new_string(arguments.values[i]));
	load_arguments__free(&arguments);
	return list;
}

static json_object *cells_json(const struct sweep_plan *p)
{
	json_object *list = json_object_new_array(), *cell, *load;
	size_t i;

	for (i = 0; i < p->count; i++) {
		load = load_json(&p->cells[i].load);
		if (!load) {
			json_object_put(list);
			return NULL;
		}
		cell = json_object_new_object();
		json__add_string(cell, "cell", p->cells[i].name);
		json_object_object_add(cell, "group", json_object_new_uint64(p->cells[i].group));
		json_object_object_add(cell, "load", load);
		json_object_array_add(list, cell);
	}
	return list;
}

static json_object *measuring_json(const struct options *o)
{
	json_object *m = json_object_new_object();

	json__add_string(m, "tier", o->tier ? mechanism_name(o->tier) : NULL);
	json__add_string(m, "events", o->events);
	json__add_string(m, "call_counters", o->call_counters);
	json_object_object_add(m, "by", json_object_new_int((int)o->by));
	json_object_object_add(m, "by_max", json_object_new_int((int)o->by_max));
	json__add_truth(m, "stages", o->stages);
	json__add_truth(m, "packets", o->packets);
	json_object_object_add(m, "sample", json_object_new_int((int)o->sample));
	json__add_truth(m, "memory", o->memory);
	json__add_truth(m, "cost", o->cost);
	return m;
}

json_object *sweep_plan_file__write(const struct sweep_plan *p, const struct options *o)
{
	json_object *plan, *cells = cells_json(p);

	if (!cells)
		return NULL;
	plan = json_object_new_object();
	json__add_string(plan, "schema", SCHEMA);
	json__add_string(plan, "version", SENDPATH_VERSION);
	json__add_string(plan, "command", o->command);
	json__add_string(plan, "grid", o->sweep.grid);
	json_object_object_add(plan, "order_seed", json_object_new_int64(p->seed));
	json_object_object_add(plan, "repeat", json_object_new_int((int)p->repeats));
	json_object_object_add(plan, "shards", json_object_new_int((int)p->shards));
	json_object_object_add(plan, "measuring", measuring_json(o));
	json_object_object_add(plan, "cells", cells);
	return plan;
}

static bool equal(json_object *a, json_object *b, const char *path)
{
	return json_object_equal(record__at(a, path), record__at(b, path));
}

static const char *text_of(json_object *o, const char *path, char *text, size_t room)
{
	json_object *found = record__at(o, path);

	return safe_text(found ? json_object_get_string(found) : "none", text, room);
}

/* "sizes", or that there is none. */
static bool differs(json_object *older, json_object *newer, const char *path, const char *what,
		    char *why, size_t room)
{
	char a[64], b[64];

	if (equal(older, newer, path))
		return false;
	snprintf(why, room, "its %s is %s, not %s", what, text_of(older, path, a, sizeof(a)),
		 text_of(newer, path, b, sizeof(b)));
	return true;
}

static bool read_seed(json_object *plan, uint32_t *seed)
{
	double value = -1;
	bool found =
		record__number(plan, "/order_seed", &value) && value >= 0 && value <= UINT32_MAX;

	*seed = found ? (uint32_t)value : 0;
	return found;
}

bool sweep_plan_file__same(json_object *older, json_object *newer, bool order_given, uint32_t *seed,
			   char *why, size_t room)
{
	static const struct {
		const char *path, *what;
	} keys[] = {
		{"/schema", "schema"},
		{"/version", "version of this program"},
		{"/grid", "--grid"},
		{"/repeat", "--repeat"},
		{"/shards", "N of --shard I/N"},
		{"/order_seed", "--order-seed"},
	};
	bool found = read_seed(older, seed);
	char text[64];
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if ((order_given || strcmp(keys[i].path, "/order_seed")) &&
		    differs(older, newer, keys[i].path, keys[i].what, why, room))
			return false;
	if (!found) {
		snprintf(why, room, "its order_seed is %s, not a number from 0 to 4294967295",
			 text_of(older, "/order_seed", text, sizeof(text)));
		return false;
	}
	if (!equal(older, newer, "/cells")) {
		snprintf(why, room, "its loads are others");
		return false;
	}
	if (!equal(older, newer, "/measuring")) {
		snprintf(why, room, "its options of measuring are others");
		return false;
	}
	return true;
}
