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
	return !r->plan.entries[HOOK_URING].option->by_report || !r->measured.totals.uring_unknown;
}

static void add_copied(json_object *o, const struct run_result *r, struct unmeasured *u)
{
	const struct totals *t = &r->measured.totals;

	if (!copies_seen(r)) {
		record__add_nulls(o, "copied", "fallback_rate", NULL);
		unmeasured__add(u, "zerocopy.io_uring.copied", NO_REPORT);
		return;
	}
	record__add_count(o, "copied", t->uring_copied);
	record__add_ratio(o, "fallback_rate", t->uring_copied, t->uring_completions);
}

static void add_completions(json_object *o, const struct run_result *r, struct unmeasured *u)
{
	const struct plan_entry *entry = &r->plan.entries[HOOK_URING];

	if (!entry->option) {
		record__add_nulls(o, "completions", "outstanding", "copied", "fallback_rate", NULL);
		unmeasured__add(u, "zerocopy.io_uring.completions", entry->reason);
		return;
	}
	record__add_count(o, "completions", r->measured.totals.uring_completions);
	record__add_count(o, "outstanding", measured__uring_outstanding(&r->measured));
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
	record__add(o, "refused", record__refused(NULL, &sums));
	record__add_count(o, "bytes", sums.bytes);
	add_completions(o, r, u);
	return o;
}
