// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * zerocopy.completion_ns, pinned, notifications, error_queue: what a zero-copy send
 * costs after it returned.
 */
#include "user/record/record_parts.h"

#include "common/hist_stats.h"

#include <stdio.h>

#define READ_SPAN "inet_recv_error"

static bool followed(const struct run_result *r, const char *key, struct unmeasured *u)
{
	return unmeasured__unless_hooked(u, key, r, HOOK_COMPLETION) &&
	       unmeasured__unless_hooked(u, key, r, HOOK_SEND_ID);
}

static void add_latency(json_object *o, const struct run_result *r, struct unmeasured *u)
{
	bool known = followed(r, "zerocopy.completion_ns", u);
	const struct hook_option *send = r->plan.entries[HOOK_SEND].option;
	const struct hist *h = &r->measured.spans[SPAN_COMPLETION];

	json__add(o, "completion_ns", known ? hist__json(h, send->completion_span) : NULL);
	json__add_known(o, "completions_untimed", known,
			measured__difference(r->measured.totals.completions, h->count));
}

/* Why what is pinned is not known, where sends are followed. */
static const char *unpinned(const struct run_result *r, char *text, size_t size)
{
	if (!r->measured.totals.untimed)
		return "how much a send asks for is not seen before it returns";
	snprintf(text, size, "%llu sends could not be followed one by one (at most %d of a socket)",
		 (unsigned long long)r->measured.totals.untimed, RING_SLOTS);
	return text;
}

static json_object *pinned(const struct run_result *r, struct unmeasured *u)
{
	const struct measured *m = &r->measured;
	char text[128];
	json_object *o;

	if (!followed(r, "zerocopy.pinned", u))
		return NULL;
	if (!measured__pinned_known(m)) {
		unmeasured__add(u, "zerocopy.pinned", unpinned(r, text, sizeof(text)));
		return NULL;
	}
	o = json_object_new_object();
	record__add_string(o, "scope", "all sockets");
	json__add_count(o, "bytes_now",
			measured__difference(m->pinned.bytes, m->pinned.freed_bytes));
	json__add_count(o, "bytes_max", m->peak.bytes);
	json__add_count(o, "pages_now",
			measured__difference(m->pinned.pages, m->pinned.freed_pages));
	json__add_count(o, "pages_max", m->peak.pages);
	return o;
}

/* The completion hook counts ranges of sends, the error queue's what is read about them. */
static json_object *notifications(const struct run_result *r, struct unmeasured *u)
{
	const struct totals *t = &r->measured.totals;
	bool counted = r->plan.entries[HOOK_COMPLETION].option;
	bool read =
		unmeasured__unless_hooked(u, "zerocopy.notifications.read", r, HOOK_ERROR_QUEUE);
	json_object *o = json_object_new_object();

	json__add_known(o, "ranges", counted, t->ubufs_done);
	record__add_ratio(o, "sends_per_range", t->completions, counted ? t->ubufs_done : 0);
	json__add_known(o, "read", read, t->notifications_read);
	json__add_known(o, "reported", read, t->reported);
	json__add_known(o, "reported_copied", read, t->errqueue_copied);
	json__add_known(o, "unread", read && counted,
			measured__difference(t->completions, t->reported));
	record__add_ratio(o, "sends_per_notification", t->reported,
			  read ? t->notifications_read : 0);
	return o;
}

static json_object *error_queue(const struct run_result *r, const struct zerocopy_sums *sums,
				struct unmeasured *u)
{
	const struct hist *found = &r->measured.spans[SPAN_READ];
	const struct hist *empty = &r->measured.spans[SPAN_READ_EMPTY];
	__u64 accepted = sums->requests - sums->failed - sums->ignored;
	json_object *o;

	if (!unmeasured__unless_hooked(u, "zerocopy.error_queue", r, HOOK_ERROR_READ))
		return NULL;
	o = json_object_new_object();
	json__add_count(o, "sends", accepted);
	json__add_count(o, "reads", found->count);
	json__add_count(o, "empty_reads", empty->count);
	json__add(o, "read_ns", hist__json(found, READ_SPAN));
	json__add(o, "empty_read_ns", hist__json(empty, READ_SPAN));
	record__add_ratio(o, "ns_per_send", found->sum + empty->sum, accepted);
	record__add_ratio(o, "reads_per_send", found->count + empty->count, accepted);
	return o;
}

#define WAKE_UP_SPAN "sock_def_error_report"

void record__add_completions(json_object *zerocopy, const struct run_result *r,
			     const struct zerocopy_sums *sums, struct unmeasured *u)
{
	add_latency(zerocopy, r, u);
	json__add(zerocopy, "pinned", pinned(r, u));
	json__add(zerocopy, "notifications", notifications(r, u));
	json__add(zerocopy, "error_queue", error_queue(r, sums, u));
	json__add(zerocopy, "wake_up_ns",
		  unmeasured__unless_hooked(u, "zerocopy.wake_up_ns", r, HOOK_WAKE_UP)
			  ? hist__json(&r->measured.spans[SPAN_WAKE_UP], WAKE_UP_SPAN)
			  : NULL);
}
