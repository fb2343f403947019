/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What TCP did in the window: the sending sockets' own word, and the protocol's counters. */
#include <json-c/json.h>

#include "loadgen/run/result_parts.h"

struct json_object *result__tcp_json(const struct result *r)
{
	struct json_object *o = netstat__json(&r->netstat_before, &r->netstat_after);

	if (o)
		json_object_object_add(o, "sending", tcp_sockets__json(&r->sockets));
	return o;
}
