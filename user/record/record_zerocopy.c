// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * zerocopy: the unit is one send id.
 *   requests = completions + ignored + refused + outstanding
 *   copied = copied_flagged + copied_silent, where the latter is known
 * zerocopy.io_uring: sends by io_uring's own zero-copy operations have no send id, so they
 * stand apart, with the same arithmetic.
 */
#include "user/record/record_parts.h"
#include "user/record/record_read.h"

#include "loadgen/send/send_ops.h"

#define NO_REPORT                                                                           \
	"without fentry or kprobes it is known only where the program has io_uring report " \
	"it (IORING_SEND_ZC_REPORT_USAGE)"

static json_object *requests(const struct zerocopy_sums *sums, json_object *refused)
{
	json_object *o = json_object_new_object();

	json__add_count(o, "requests", sums->requests);
	json__add_count(o, "ignored", sums->ignored);
	json__add_count(o, "ignored_empty", sums->empty);
	json__add(o, "refused", refused);
	json__add_count(o, "bytes", sums->bytes);
	return o;
}

/* Whether all copies were seen: by a hook of their own, or as io_uring was asked to tell. */
static bool uring_copies_seen(const struct run_result *r)
{
	return !r->plan.entries[HOOK_URING].option->by_report || !r->measured.totals.uring_unknown;
}

/* NULL where there were no such sends. */
static json_object *uring(const struct run_result *r, struct unmeasured *u)
{
	const struct totals *t = &r->measured.totals;
	struct zerocopy_sums sums;
	bool completed, copied;
	json_object *o;

	measured__uring(&r->measured, &sums);
	if (!sums.requests)
		return NULL;
	o = requests(&sums, record__refused(NULL, &sums));
	completed = unmeasured__unless_hooked(u, "zerocopy.io_uring.completions", r, HOOK_URING);
	copied = completed && uring_copies_seen(r);
	json__add_known(o, "completions", completed, t->uring_completions);
	json__add_known(o, "outstanding", completed, measured__uring_outstanding(&r->measured));
	json__add_known(o, "copied", copied, t->uring_copied);
	record__add_ratio(o, "fallback_rate", t->uring_copied, copied ? t->uring_completions : 0);
	if (completed && !copied)
		unmeasured__add(u, "zerocopy.io_uring.copied", NO_REPORT);
	return o;
}

static void add(json_object *o, const char *key, json_object *value, const char *reason,
		struct unmeasured *u)
{
	record__add_measured(o, "zerocopy", key, value, reason, u);
}

/*
 * Bytes of copied sends are known to the hook that sees the bookkeeping (known). Without
 * it they follow where all or none were copied.
 */
static json_object *copied_bytes(const struct run_result *r, const struct zerocopy_sums *sums,
				 __u64 copied, __u64 known)
{
	const struct hook_option *option = r->plan.entries[HOOK_COMPLETION].option;
	__u64 accepted = sums->requests - sums->failed - sums->ignored;
	__u64 completions = r->measured.totals.completions;

	if (!option->by_queue && !r->measured.totals.unsized_completions)
		return json_object_new_uint64(known);
	if (!copied)
		return json_object_new_uint64(0);
	if (copied == completions && completions == accepted)
		return json_object_new_uint64(sums->bytes);
	return NULL;
}

static void add_bytes_copied(json_object *o, const struct run_result *r, __u64 copied,
			     const struct zerocopy_sums *sums, struct unmeasured *u)
{
	static const char reason[] = "completions do not tell the size of each send";
	const struct totals *t = &r->measured.totals;
	const char *blind = plan__blind_to_unreported(&r->plan);
	json_object *silent =
		blind ? NULL : copied_bytes(r, sums, t->unflagged, t->unflagged_bytes);

	add(o, "bytes_copied", copied_bytes(r, sums, copied, t->bytes_copied + t->unflagged_bytes),
	    reason, u);
	add(o, "bytes_copied_silent", silent, blind ? blind : reason, u);
}

/* Of the data of sends that no hook saw copied, those that did not leave the machine either. */
/* Without room for what was seen of a send, it would look like one of which nothing was. */
static void add_unexplained(json_object *o, const struct run_result *r, struct unmeasured *u)
{
	const struct plan_entry *leaves = &r->plan.entries[HOOK_DEVICE_EXIT];
	const struct plan_entry *copy = &r->plan.entries[HOOK_SKB_COPY];
	const struct totals *t = &r->measured.totals;
	bool known = leaves->option && copy->option && !t->lost_cause_bits;

	add(o, "unexplained", known ? json_object_new_uint64(t->unexplained) : NULL,
	    t->lost_cause_bits ? "there was no room for what was seen of some sends (lost.stacks)"
	    : leaves->option   ? copy->reason
			       : leaves->reason,
	    u);
}

static void add_completions(json_object *o, const struct run_result *r,
			    const struct zerocopy_sums *sums, struct unmeasured *u)
{
	static const char *const keys[] = {
		"completions",	       "completions_before", "outstanding",   "copied",
		"copied_flagged",      "copied_silent",	     "fallback_rate", "bytes_copied",
		"bytes_copied_silent", "unexplained"};
	bool seen = unmeasured__unless_hooked(u, "zerocopy.completions", r, HOOK_COMPLETION);
	const struct totals *t = &r->measured.totals;
	const char *blind = plan__blind_to_unreported(&r->plan);
	__u64 flagged = t->flagged + t->flag_added - t->flag_retracted;
	__u64 copied = flagged + (blind ? 0 : t->unflagged);
	size_t i;

	for (i = 0; !seen && i < sizeof(keys) / sizeof(keys[0]); i++)
		json__add(o, keys[i], NULL);
	if (!seen)
		return;
	json__add_count(o, "completions", t->completions);
	json__add_count(o, "outstanding", measured__outstanding(&r->measured));
	json__add_count(o, "completions_before", t->completions_before);
	json__add_count(o, "copied", copied);
	json__add_count(o, "copied_flagged", flagged);
	add(o, "copied_silent", blind ? NULL : json_object_new_uint64(t->unflagged), blind, u);
	add_unexplained(o, r, u);
	record__add_ratio(o, "fallback_rate", copied, t->completions);
	add_bytes_copied(o, r, copied, sums, u);
}

/* The copying functions tell what they copied; a packet's path tells only that it was. */
static void add_skb_copies(json_object *o, const struct run_result *r, struct unmeasured *u)
{
	const struct plan_entry *entry = &r->plan.entries[HOOK_SKB_COPY];
	const struct measured *m = &r->measured;
	__u64 skbs = m->unnamed.skbs, bytes = m->unnamed.bytes;
	size_t i;

	if (!entry->option || entry->option->by_path) {
		add(o, "skb_copies", NULL, entry->reason, u);
		add(o, "skb_copy_bytes", NULL, entry->reason, u);
		return;
	}
	for (i = 0; i < m->cause_count; i++) {
		skbs += m->causes[i].sums.skbs;
		bytes += m->causes[i].sums.bytes;
	}
	json__add_count(o, "skb_copies", skbs);
	json__add_count(o, "skb_copy_bytes", bytes);
}

/* Its sends have no send id, and are in none of the sums that this block begins with. */
static bool by_uring(const struct run_setup *setup)
{
	return variants__find(setup->load.variant)->flags & SEND_URING;
}

/* An observed program does not say what it was told: its error queue does. */
static json_object *seen_told(const struct run_result *r)
{
	return r->plan.entries[HOOK_ERROR_QUEUE].option
		       ? json_object_new_uint64(r->measured.totals.errqueue_copied)
		       : NULL;
}

json_object *record__zerocopy(const struct run_result *r, const struct run_setup *setup,
			      struct unmeasured *u)
{
	struct zerocopy_sums sums;
	json_object *o, *told;

	measured__zerocopy(&r->measured, &sums);
	if (r->plan.entries[HOOK_COMPLETION].status == HOOK_DISABLED && !sums.requests) {
		unmeasured__add(u, "zerocopy", r->plan.entries[HOOK_COMPLETION].reason);
		return NULL;
	}
	o = requests(&sums, record__refused(r, &sums));
	add_completions(o, r, &sums, u);
	record__add_peers(o, r);
	json__add(o, "io_uring", uring(r, u));
	add_skb_copies(o, r, u);
	json__add(o, "causes", record__causes(r, setup, u));
	record__add_completions(o, r, &sums, u);
	told = setup->target	 ? seen_told(r)
	       : by_uring(setup) ? NULL
				 : json_object_get(record__at(r->app, "/zerocopy/copied"));
	add(o, "app_told_copied", told,
	    setup->target     ? r->plan.entries[HOOK_ERROR_QUEUE].reason
	    : by_uring(setup) ? "none of these sends: of those by io_uring app.zerocopy tells"
			      : "the load generator ended without a result",
	    u);
	return o;
}
