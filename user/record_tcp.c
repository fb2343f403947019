// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What TCP did, and the blocks that come whole from the load generator. */
#include "record_parts.h"

#define NO_SKBS "no hook looks at the packets that a send becomes"

json_object *record__taken(json_object *app, const char *key)
{
	json_object *block = NULL;

	if (!json_object_object_get_ex(app, key, &block))
		return NULL;
	json_object_get(block);
	json_object_object_del(app, key);
	return block;
}

json_object *record__tcp(const struct run_result *r, const struct run_setup *setup,
			 struct unmeasured *u)
{
	json_object *tcp = record__taken(r->app, "tcp"), *sending;

	if (!tcp) {
		unmeasured__add(u, "tcp",
				setup->target
					? "the protocol's own counters are read of loads alone"
				: r->app ? "/proc/self/net/netstat could not be read"
					 : r->error);
		return NULL;
	}
	json_object_object_get_ex(tcp, "sending", &sending);
	if (!sending)
		unmeasured__add(u, "tcp.sending",
				"each socket that sent was closed within the window");
	json_object_object_add(tcp, "skbs_per_send", NULL);
	json_object_object_add(tcp, "frags_per_skb", NULL);
	unmeasured__add(u, "tcp.skbs_per_send", NO_SKBS);
	unmeasured__add(u, "tcp.frags_per_skb", NO_SKBS);
	return tcp;
}
