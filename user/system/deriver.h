/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The process that makes records of raw lines: Python (analysis/derive), as the calling user and
 * without a capability. It goes when it is freed, or when this process ends.
 */
#pragma once

#include <json-c/json.h>
#include <stddef.h>

struct deriver;

/* This process is the calling user's already. 0 and *out, or -errno with the reason in words. */
int deriver__start(struct deriver **out, char *reason, size_t size);

/* The record of a raw line, which is freed; NULL: out of memory. To be json_object_put; NULL, said.
 */
json_object *deriver__record(struct deriver *d, char *line);

void deriver__free(struct deriver *d);
