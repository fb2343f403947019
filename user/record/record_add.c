// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/record/record_parts.h"

#include <stdio.h>
#include <string.h>

void record__add_string(json_object *o, const char *key, const char *value)
{
	json__add(o, key, value ? json_object_new_string(value) : NULL);
}

void record__add_name(json_object *o, const char *key, const char *name, size_t size)
{
	int length = (int)strnlen(name, size);

	json__add(o, key, length ? json_object_new_string_len(name, length) : NULL);
}

void record__add_int_if(json_object *o, const char *key, bool known, int64_t n)
{
	json__add(o, key, known ? json_object_new_int64(n) : NULL);
}

void record__add_double_if(json_object *o, const char *key, bool known, double value)
{
	json__add(o, key, known ? json_object_new_double(value) : NULL);
}

void record__add_ratio(json_object *o, const char *key, __u64 of, __u64 by)
{
	record__add_double_if(o, key, by, (double)of / (double)by);
}

void record__add_measured(json_object *o, const char *block, const char *key, json_object *value,
			  const char *reason, struct unmeasured *u)
{
	char path[64];

	json__add(o, key, value);
	snprintf(path, sizeof(path), "%s.%s", block, key);
	if (!value)
		unmeasured__add(u, path, reason);
}

bool unmeasured__unless_hooked(struct unmeasured *u, const char *key, const struct run_result *r,
			       enum hook_id id)
{
	const struct plan_entry *entry = &r->plan.entries[id];

	if (!entry->option)
		unmeasured__add(u, key, entry->reason);
	return entry->option;
}

void unmeasured__add(struct unmeasured *u, const char *key, const char *reason)
{
	json_object *o = json_object_new_object();

	record__add_string(o, "key", key);
	record__add_string(o, "reason", reason);
	json_object_array_add(u->list, o);
}
