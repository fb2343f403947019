// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/record/record_parts.h"

void record__add_string(json_object *o, const char *key, const char *value)
{
	json_object_object_add(o, key, value ? json_object_new_string(value) : NULL);
}

void record__add_count(json_object *o, const char *key, __u64 n)
{
	json_object_object_add(o, key, json_object_new_uint64(n));
}

void record__add_ratio(json_object *o, const char *key, __u64 of, __u64 by)
{
	json_object_object_add(o, key, by ? json_object_new_double((double)of / (double)by) : NULL);
}
