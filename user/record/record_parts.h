/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The larger blocks of the run record, a function each; private to record*.c. */
#pragma once

#include "common/json.h"
#include "user/record/record.h"

/* What could not be measured, and why: the record's "unmeasured" list, an array. */
struct unmeasured {
	json_object *list;
};

/* key is the path of a null in the record. */
void unmeasured__add(struct unmeasured *u, const char *key, const char *reason);
/* Whether a hook is there; if not, its reason is why the key is not measured. */
bool unmeasured__unless_hooked(struct unmeasured *u, const char *key, const struct run_result *r,
			       enum hook_id id);

/* Add a key to an object; NULL, and what is not known, become null. */
void record__add_string(json_object *o, const char *key, const char *value);
/* A kernel's name, that need not end with a zero; an empty one is null. */
void record__add_name(json_object *o, const char *key, const char *name, size_t size);
void record__add_int_if(json_object *o, const char *key, bool known, int64_t n);
void record__add_double_if(json_object *o, const char *key, bool known, double value);
/* By 0 is null. */
void record__add_ratio(json_object *o, const char *key, __u64 of, __u64 by);
/* Adds what block.key names; where it is NULL, the reason why it is not measured. */
void record__add_measured(json_object *o, const char *block, const char *key, json_object *value,
			  const char *reason, struct unmeasured *u);

json_object *record__load(const struct run_result *r, const struct load *load,
			  struct unmeasured *u);
json_object *record__warnings(json_object *record, const struct run_result *r,
			      const struct run_setup *setup, const struct record_context *context);
json_object *record__calls(const struct run_result *r, const struct run_setup *setup,
			   struct unmeasured *u);
/* Adds cpu_ns and stages to a row of calls; why there are none. */
void record__add_stages(json_object *call, const struct run_result *r,
			const struct run_setup *setup, __u32 slot, struct unmeasured *u);
void record__explain_stages(const struct run_setup *setup, struct unmeasured *u);
json_object *record__zerocopy(const struct run_result *r, const struct run_setup *setup,
			      struct unmeasured *u);
/* r is NULL for sends by io_uring, which neither limit refuses. */
json_object *record__refused(const struct run_result *r, const struct zerocopy_sums *sums);
json_object *record__causes(const struct run_result *r, const struct run_setup *setup,
			    struct unmeasured *u);
/* Into the block zerocopy: what comes of completions, and what hearing of them costs. */
void record__add_completions(json_object *zerocopy, const struct run_result *r,
			     const struct zerocopy_sums *sums, struct unmeasured *u);
json_object *record__counters(const struct run_result *r, const struct run_setup *setup,
			      struct unmeasured *u);
/* NULL where --by does not ask for groups. */
json_object *record__by(const struct run_result *r, const struct run_setup *setup);
/* Adds peers and peers_rest to the zerocopy block. */
void record__add_peers(json_object *o, const struct run_result *r);
/* NULL where --memory does not ask for it. */
json_object *record__memory(const struct run_result *r, struct unmeasured *u);
json_object *record__lost(const struct run_result *r, struct unmeasured *u);
/* Adds the block noise; once run, app and tcp are there. */
void record__add_noise(json_object *record, const struct run_result *r,
		       const struct run_setup *setup, struct unmeasured *u);
void record__warn_noise(json_object *record,
			void (*add)(void *context, const char *code, const char *text),
			void *context);

/* A block that the load generator made among its own counts: taken out of these. Or NULL. */
json_object *record__taken(json_object *app, const char *key);
json_object *record__tcp(const struct run_result *r, const struct run_setup *setup,
			 struct unmeasured *u);
