// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What TCP did, and the blocks that come whole from the load generator. */
#include "user/record/record_parts.h"
#include "user/record/record_read.h"

json_object *record__taken(json_object *app, const char *key)
{
	json_object *block = NULL;

	if (!json_object_object_get_ex(app, key, &block))
		return NULL;
	json_object_get(block);
	json_object_object_del(app, key);
	return block;
}

/* Sends that TCP took. */
static __u64 accepted(const struct measured *m)
{
	__u64 sum = 0;
	size_t call;

	for (call = 0; call < CALL_SLOTS; call++)
		sum += call__accepted(&m->calls[call]).sends;
	return sum;
}

/* Why it is not known what packets the sends became; NULL: it is. */
static const char *no_packets(const struct run_result *r)
{
	const struct plan_entry *entry = &r->plan.entries[HOOK_PACKET];

	if (!entry->option)
		return entry->reason;
	return r->measured.totals.packets ? NULL : "no packet with data left in the window";
}

static json_object *ratio(__u64 of, __u64 by)
{
	return by ? json_object_new_double((double)of / (double)by) : NULL;
}

static void add_packets(json_object *tcp, const struct run_result *r, struct unmeasured *u)
{
	const struct totals *t = &r->measured.totals;
	const char *why = no_packets(r);

	record__add_measured(tcp, "tcp", "skbs", why ? NULL : json_object_new_uint64(t->packets),
			     why, u);
	record__add_measured(tcp, "tcp", "skb_frags",
			     why ? NULL : json_object_new_uint64(t->packet_frags), why, u);
	record__add_measured(tcp, "tcp", "skbs_per_send",
			     why ? NULL : ratio(t->packets, accepted(&r->measured)),
			     why ? why : "no send was seen in the window", u);
	record__add_measured(tcp, "tcp", "frags_per_skb",
			     why ? NULL : ratio(t->packet_frags, t->packets), why, u);
}

json_object *record__tcp(const struct run_result *r, const struct run_setup *setup,
			 struct unmeasured *u)
{
	json_object *tcp = record__taken(r->app, "tcp");

	if (!tcp) {
		unmeasured__add(u, "tcp",
				setup->target
					? "the protocol's own counters are read of loads alone"
				: r->app ? "/proc/self/net/netstat could not be read"
					 : r->error);
		return NULL;
	}
	if (!record__at(tcp, "/sending"))
		unmeasured__add(u, "tcp.sending",
				"each socket that sent was closed within the window");
	add_packets(tcp, r, u);
	return tcp;
}
