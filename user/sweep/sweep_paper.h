/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The plan on paper: what DIR/plan.json says, so that a sweep goes on as it began, or
 * not at all. docs/run-record.md describes it.
 */
#pragma once

#include "user/options/options.h"
#include "user/sweep/sweep_plan.h"

#include <json-c/json.h>

/* To be json_object_put; NULL when out of memory. */
json_object *sweep_paper__write(const struct sweep_plan *p, const struct options *o);

/*
 * Does an older one plan the same runs? The seed of the order counts only if it was
 * asked for; *seed is the older one's. false with how they differ in why.
 */
bool sweep_paper__same(json_object *older, json_object *newer, bool order_given, uint32_t *seed,
		       char *why, size_t room);
