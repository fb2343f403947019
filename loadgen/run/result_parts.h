/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What result.c, result_*.c and summary.c share. */
#ifndef SENDPATH_RESULT_PARTS_H
#define SENDPATH_RESULT_PARTS_H

#include "loadgen/run/result.h"

void result__add_count(struct json_object *o, const char *key, uint64_t value);
/* format: of printf, for the double. */
void result__add_number(struct json_object *o, const char *key, double value, const char *format);

/* NULL where the load has no connections to be served one by one. */
struct json_object *result__serving_json(const struct result *r);

/* What TCP did, in the window; NULL where the protocol's counters cannot be read. */
struct json_object *result__tcp_json(const struct result *r);

void result__print_serving(const struct result *r);
void result__print_cpu(const struct result *r, const char *sender, const char *receiver);

#endif
