// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * zerocopy.io_uring: sends by io_uring's own zero-copy operations. They have no send
 * id, so they stand apart, with the same arithmetic:
 *   requests = completions + ignored + refused + outstanding
 */
#include "user/record/record_parts.h"

#define NO_REPORT                                                                           \
	"without fentry or kprobes it is known only where the program has io_uring report " \
	"it (IORING_SEND_ZC_REPORT_USAGE)"

/* Whether all copies were seen: by a hook of their own, or as io_uring was asked to tell. */
static bool copies_seen(const struct run_result *r)
{
	return !r->plan.entries[HOOK_URING].way->by_report || !r->measured.totals.uring_unreported;
}

static void add_copied(json_object *o, const struct run_result *r, struct unmeasured *u)
{
	const struct totals *t = &r->measured.totals;

	if (!copies_seen(r)) {
		json_object_object_add(o, "copied", NULL);
		json_object_object_add(o, "fallback_rate", NULL);
		unmeasured__add(u, "zerocopy.io_uring.copied", NO_REPORT);
		return;
	}
	record__add_count(o, "copied", t->uring_copied);
	json_object_object_add(o, "fallback_rate",
			       t->uring_completions
				       ? json_object_new_double((double)t->uring_copied /
								(double)t->uring_completions)
				       : NULL);
}

static void add_completions(json_object *o, const struct run_result *r, struct unmeasured *u)
{
	static const char *const keys[] = {"completions", "outstanding", "copied", "fallback_rate"};
	const struct plan_entry *entry = &r->plan.entries[HOOK_URING];
	size_t i;

	if (!entry->way) {
		for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			json_object_object_add(o, keys[i], NULL);
		unmeasured__add(u, "zerocopy.io_uring.completions", entry->reason);
		return;
	}
	record__add_count(o, "completions", r->measured.totals.uring_completions);
	json_object_object_add(o, "outstanding",
			       json_object_new_uint64(measured__uring_outstanding(&r->measured)));
	add_copied(o, r, u);
}

json_object *record__uring(const struct run_result *r, struct unmeasured *u)
{
	struct zerocopy_sums sums;
	json_object *o;

	measured__uring(&r->measured, &sums);
	if (!sums.requests)
		return NULL;
	o = json_object_new_object();
	record__add_count(o, "requests", sums.requests);
	record__add_count(o, "ignored", sums.ignored);
	record__add_count(o, "ignored_empty", sums.empty);
	json_object_object_add(o, "refused", record__refused(NULL, &sums));
	record__add_count(o, "bytes", sums.bytes);
	add_completions(o, r, u);
	return o;
}
