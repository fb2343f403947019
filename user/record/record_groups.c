// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* by, the groups asked for, and zerocopy.peers, whom zero-copy sends were for. */
#include "user/record/record_parts.h"

#include <string.h>

#define PEERS_MAX 1000

static void add_device(json_object *o, const struct group_row *row)
{
	json__add_known(o, "netns", row->key.netns, row->key.netns);
	json__add_known(o, "ifindex", row->key.ifindex, row->key.ifindex);
	record__add_name(o, "device", row->group.device,
			 row->key.ifindex ? sizeof(row->group.device) : 0);
}

static void add_address(json_object *o, const char *key, __u16 family, const __u32 address[4])
{
	char text[INET6_ADDRSTRLEN];

	record__add_string(o, key, group__address(family, address, text));
}

/* Only a completion tells the last two: null where no hook sees any. */
static json_object *zerocopy_sums(const struct group *g, const struct sight *sight)
{
	bool copies = sight->completions && (sight->unknown || !g->unknown);
	json_object *o = json_object_new_object();

	json__add_count(o, "requests", g->requests);
	json__add_count(o, "ignored", g->ignored);
	json__add_count(o, "refused", g->refused);
	json__add_count(o, "bytes", g->zerocopy_bytes);
	json__add_known(o, "completions", sight->completions, g->completions);
	json__add_known(o, "copied", copies, g->copied + (sight->unreported ? g->unflagged : 0));
	return o;
}

static void add_sums(json_object *o, const struct group *g, const char *span,
		     const struct sight *sight)
{
	json_object *wall = json_object_new_object();

	json__add_count(o, "sends", g->sends);
	json__add_count(o, "failed", g->failed);
	json__add_count(o, "interrupted", g->interrupted);
	json__add_count(o, "bytes", g->bytes);
	record__add_string(wall, "span", span);
	json__add_count(wall, "count", g->timed);
	json__add_count(wall, "sum", g->ns);
	json__add(o, "wall_ns", wall);
	json__add(o, "zerocopy", g->requests ? zerocopy_sums(g, sight) : NULL);
}

static json_object *group(const struct group_row *row, unsigned int by, const char *span,
			  const struct sight *sight)
{
	const struct group *g = &row->group;
	json_object *o = json_object_new_object();

	if (by & BY_PROCESS) {
		json__add_known(o, "pid", g->pid, g->pid);
		record__add_name(o, "comm", g->comm, sizeof(g->comm));
	}
	if (by & BY_DEVICE)
		add_device(o, row);
	if (by & BY_PORT) {
		json__add_count(o, "remote_port", row->key.port);
		add_address(o, "remote_address", g->addresses ? 0 : g->family, g->address);
	}
	add_sums(o, g, span, sight);
	return o;
}

static json_object *dimensions(unsigned int by)
{
	json_object *list = json_object_new_array();
	enum group_by one;

	for (one = BY_PROCESS; one <= BY_PORT; one <<= 1)
		if (by & one)
			json_object_array_add(list, json_object_new_string(group_by_name(one)));
	return list;
}

json_object *record__by(const struct run_result *r, const struct run_setup *setup)
{
	const struct hook_option *option = r->plan.entries[HOOK_SEND].option;
	const struct groups *groups = &r->measured.groups;
	json_object *o, *list, *rest = NULL;
	struct sight sight = plan__sight(&r->plan);
	size_t i;

	if (!setup->by || !option)
		return NULL;
	o = json_object_new_object();
	list = json_object_new_array();
	for (i = 0; i < groups->count; i++)
		json_object_array_add(list,
				      group(&groups->rows[i], setup->by, option->span, &sight));
	if (groups->rest.sends) {
		rest = json_object_new_object();
		add_sums(rest, &groups->rest, option->span, &sight);
	}
	json__add(o, "dimensions", dimensions(setup->by));
	json__add(o, "groups", list);
	json__add(o, "rest", rest);
	return o;
}

static json_object *peer(const struct group_row *row, const struct sight *sight)
{
	json_object *o = zerocopy_sums(&row->group, sight);

	add_device(o, row);
	add_address(o, "address", row->key.family, row->key.address);
	json__add_count(o, "port", row->key.port);
	return o;
}

void record__add_peers(json_object *o, const struct run_result *r)
{
	const struct groups *peers = &r->measured.peers;
	json_object *list = json_object_new_array(), *others = NULL;
	struct group rest = peers->rest;
	struct sight sight = plan__sight(&r->plan);
	size_t i;

	for (i = 0; i < peers->count; i++) {
		if (i < PEERS_MAX)
			json_object_array_add(list, peer(&peers->rows[i], &sight));
		else
			group__add(&rest, &peers->rows[i].group);
	}
	if (rest.requests) {
		others = zerocopy_sums(&rest, &sight);
		json__add_count(others, "peers", i > PEERS_MAX ? i - PEERS_MAX : 0);
	}
	json__add(o, "peers", list);
	json__add(o, "peers_rest", others);
}
