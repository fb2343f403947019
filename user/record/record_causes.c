// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* zerocopy.causes[] and zerocopy.refused[]: why sends were copied, and why not sent. */
#include "user/record/record_parts.h"

#include "user/kernel/calls.h"
#include "user/kernel/causes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void add_refusal(json_object *list, enum refusal refusal, unsigned int error, __u64 count)
{
	json_object *o;

	if (!count)
		return;
	o = json_object_new_object();
	record__add_string(o, "cause", refusal__get(refusal)->name);
	record__add_string(o, "errno", call_error_name(error));
	json__add_count(o, "count", count);
	json_object_array_add(list, o);
}

json_object *record__refused(const struct run_result *r, const struct zerocopy_sums *sums)
{
	static const struct totals none;
	const struct totals *t = r ? &r->measured.totals : &none;
	json_object *list = json_object_new_array();
	__u64 known = t->refused_optmem + t->refused_memlock, count;
	unsigned int i;

	add_refusal(list, REFUSAL_OPTMEM, ENOBUFS, t->refused_optmem);
	add_refusal(list, REFUSAL_MEMLOCK, ENOBUFS, t->refused_memlock);
	for (i = 0; i < ERRNO_SLOTS; i++) {
		count = sums->errors[i];
		if (i == ENOBUFS)
			count -= known < count ? known : count;
		add_refusal(list, refusal__of((int)i), i, count);
	}
	return list;
}

/* The copier comes first in what a reader wants to see. */
static bool is_copier(const char *function)
{
	static const char *const copiers[] = {"skb_copy_ubufs", "skb_segment", "__pskb_pull_tail",
					      "skb_copy", "skb_pp_cow_data"};
	size_t i;

	for (i = 0; i < sizeof(copiers) / sizeof(copiers[0]); i++)
		if (!strcmp(function, copiers[i]))
			return true;
	return false;
}

/* Names only: addresses tell where the kernel is. */
static json_object *stack(const struct cause_count *cause, const struct features *features)
{
	struct kernel_address frames[STACK_FRAMES] = {};
	json_object *list = json_object_new_array();
	bool begun = false;
	size_t i, count;

	for (count = 0; count < STACK_FRAMES && cause->info.stack[count]; count++)
		frames[count].address = cause->info.stack[count];
	if (!count || features__symbolize(features, frames, count))
		return list;
	for (i = 0; i < count; i++) {
		begun |= is_copier(frames[i].name);
		if (begun)
			json_object_array_add(
				list,
				json_object_new_string(frames[i].start ? frames[i].name : "?"));
	}
	return list;
}

static json_object *cause_block(const struct cause_count *cause, const struct features *features)
{
	const struct cause_info *info = &cause->info;
	json_object *o = json_object_new_object();

	record__add_string(o, "cause", cause__get(info->key.cause)->name);
	json__add_known(o, "netns", info->key.netns, info->key.netns);
	json__add_known(o, "ifindex", info->key.ifindex, info->key.ifindex);
	record__add_name(o, "device", info->device, DEVICE_NAME_MAX);
	json__add_count(o, "count", cause->sums.sends + cause->sums.unflagged);
	json__add_count(o, "silent", cause->sums.unflagged);
	json__add_count(o, "skbs", cause->sums.skbs);
	json__add_count(o, "skbs_in_send", cause->sums.skbs_in_send);
	json__add_count(o, "bytes", cause->sums.bytes);
	json__add(o, "stack",
		  info->key.cause == CAUSE_UNCLASSIFIED ? stack(cause, features) : NULL);
	return o;
}

/* Most sends first. */
static int by_count(const void *a, const void *b)
{
	const struct cause_counter *x = &((const struct cause_count *)a)->sums;
	const struct cause_counter *y = &((const struct cause_count *)b)->sums;
	__u64 m = x->sends + x->unflagged, n = y->sends + y->unflagged;

	return m < n ? 1 : m > n ? -1 : 0;
}

static bool says_something(const struct cause_counter *sums)
{
	return sums->sends || sums->unflagged;
}

json_object *record__causes(const struct run_result *r, const struct run_setup *setup,
			    struct unmeasured *u)
{
	const struct measured *m = &r->measured;
	struct cause_count sorted[CAUSE_COUNTERS_MAX], other = {.sums = m->unnamed};
	json_object *list;
	size_t i;

	/* What was copied is counted when it completes. */
	if (!unmeasured__unless_hooked(u, "zerocopy.causes", r, HOOK_SKB_COPY) ||
	    !unmeasured__unless_hooked(u, "zerocopy.causes", r, HOOK_COMPLETION))
		return NULL;
	list = json_object_new_array();
	memcpy(sorted, m->causes, sizeof(sorted));
	qsort(sorted, m->cause_count, sizeof(sorted[0]), by_count);
	for (i = 0; i < m->cause_count; i++)
		if (says_something(&sorted[i].sums))
			json_object_array_add(list, cause_block(&sorted[i], setup->features));
	other.sums.sends += m->unseen.sends;
	if (says_something(&other.sums))
		json_object_array_add(list, cause_block(&other, setup->features));
	return list;
}
