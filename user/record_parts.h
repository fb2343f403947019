/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The larger blocks of the run record, a function each; private to record*.c. */
#ifndef SENDPATH_RECORD_PARTS_H
#define SENDPATH_RECORD_PARTS_H

#include "record.h"

/* Where a block says what it could not measure: the record's "unmeasured" list. */
struct unmeasured {
	json_object *list;
};
void unmeasured__add(struct unmeasured *u, const char *key, const char *reason);

json_object *record__calls(const struct run_result *r, struct unmeasured *u);
json_object *record__zerocopy(const struct run_result *r, struct unmeasured *u);
/* Accepted zero-copy sends that have no completion yet; below 0 if more came than were sent. */
__s64 record__outstanding(const struct measured *m);
json_object *record__counters(const struct run_result *r);
json_object *record__lost(const struct run_result *r, struct unmeasured *u);

#endif
