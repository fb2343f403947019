// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/record/unmeasured.h"

void unmeasured__add(struct unmeasured *u, const char *key, const char *reason)
{
	json_object *o = json_object_new_object();

	json_object_object_add(o, "key", json_object_new_string(key));
	json_object_object_add(o, "reason", json_object_new_string(reason));
	json_object_array_add(u->list, o);
}
