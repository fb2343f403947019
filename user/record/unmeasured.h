/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What could not be measured, and why: the record's "unmeasured" list. */
#ifndef SENDPATH_UNMEASURED_H
#define SENDPATH_UNMEASURED_H

#include <json-c/json.h>

struct unmeasured {
	json_object *list; /* an array */
};

/* key is the path of a null in the record. */
void unmeasured__add(struct unmeasured *u, const char *key, const char *reason);

#endif
