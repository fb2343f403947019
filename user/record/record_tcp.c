// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What TCP did, and the blocks that come whole from the load generator. */
#include "user/record/record_parts.h"
#include "user/record/record_read.h"

#include <stdio.h>

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
		sum += m->calls[call].sends - m->calls[call].failed;
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

static void add_packets(json_object *tcp, const struct run_result *r, struct unmeasured *u)
{
	static const char *const keys[] = {"skbs", "skb_frags", "skbs_per_send", "frags_per_skb"};
	const struct totals *t = &r->measured.totals;
	const char *reason = no_packets(r);
	char path[64];
	size_t i;

	for (i = 0; reason && i < sizeof(keys) / sizeof(keys[0]); i++) {
		json__add(tcp, keys[i], NULL);
		snprintf(path, sizeof(path), "tcp.%s", keys[i]);
		unmeasured__add(u, path, reason);
	}
	if (reason)
		return;
	json__add_count(tcp, "skbs", t->packets);
	json__add_count(tcp, "skb_frags", t->packet_frags);
	record__add_ratio(tcp, "skbs_per_send", t->packets, accepted(&r->measured));
	record__add_ratio(tcp, "frags_per_skb", t->packet_frags, t->packets);
	if (!accepted(&r->measured))
		unmeasured__add(u, "tcp.skbs_per_send", "no send was seen in the window");
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
