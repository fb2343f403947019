// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "hooks.h"

#include <stdio.h>
#include <string.h>

static const struct hook hooks[HOOK_COUNT] = {
	[HOOK_SEND] =
		{
			.name = "send",
			.purpose = "kernel time, bytes and errors of each send",
			.ways =
				{
					{
						.mechanism = MECHANISM_FENTRY,
						.symbol = "tcp_sendmsg",
						.span = "tcp_sendmsg",
						.programs = {"send_fentry", "send_fexit"},
						.functions = {"tcp_sendmsg"},
					},
					{
						.mechanism = MECHANISM_TRACEPOINT,
						.symbol = "tcp_sendmsg_locked, sock_send_length",
						.span = "tcp_sendmsg_locked..return",
						.programs = {"send_loop", "send_length"},
						.tracepoints = {{"tcp_sendmsg_locked", 2},
								{"sock_send_length", 2}},
					},
					{
						.mechanism = MECHANISM_TRACEPOINT,
						.symbol = "sys_enter, sys_exit",
						.span = "syscall",
						.programs = {"send_enter", "send_exit"},
						.tracepoints = {{"sys_enter", 2}, {"sys_exit", 2}},
						.misses = "sees sendto, sendmsg, write and writev "
							  "only",
					},
				},
		},
	[HOOK_COMPLETION] =
		{
			.name = "completion",
			.purpose = "whether a zero-copy send was flagged as copied",
			.zerocopy_only = true,
			.ways =
				{
					{
						.mechanism = MECHANISM_FENTRY,
						.symbol = "__msg_zerocopy_callback",
						.programs = {"completion_fentry", "socket_closed"},
						.functions = {"__msg_zerocopy_callback"},
						.tracepoints = {{"inet_sock_set_state", 3}},
					},
					{
						.mechanism = MECHANISM_TRACEPOINT,
						.symbol = "inet_sk_error_report, consume_skb",
						.programs = {"notification_queued",
							     "notification_freed", "socket_closed"},
						.tracepoints = {{"inet_sk_error_report", 1},
								{"consume_skb", 2}},
						.code = "sock_ofree",
					},
					{
						.mechanism = MECHANISM_TRACEPOINT,
						.symbol = "inet_sk_error_report",
						.programs = {"notification_queued",
							     "socket_closed"},
						.tracepoints = {{"inet_sk_error_report", 1}},
						.misses = "does not see a merged notification's "
							  "own flag",
					},
				},
		},
	[HOOK_SKB_COPY] =
		{
			.name = "skb copy",
			.purpose = "the kernel replacing a zero-copy send's pages by copies",
			.zerocopy_only = true,
			.ways =
				{
					{
						.mechanism = MECHANISM_FENTRY,
						.symbol = "skb_copy_ubufs",
						.programs = {"deep_copy", "socket_closed"},
						.functions = {"skb_copy_ubufs"},
						.tracepoints = {{"inet_sock_set_state", 3}},
					},
				},
		},
	[HOOK_RECEIVER_COPY] =
		{
			.name = "receiver copy",
			.purpose = "the copy from skb to user space in the receiver",
			.ways =
				{
					{
						.mechanism = MECHANISM_TRACEPOINT,
						.symbol = "skb_copy_datagram_iovec",
						.programs = {"receiver_copy"},
						.tracepoints = {{"skb_copy_datagram_iovec", 2}},
					},
				},
		},
};

const struct hook *hook__get(enum hook_id id)
{
	return &hooks[id];
}

const char *mechanism_name(enum mechanism m)
{
	static const char *const names[] = {"none", "fentry", "tracepoint"};

	return names[m];
}

enum mechanism mechanism_parse(const char *name)
{
	if (!strcmp(name, "fentry"))
		return MECHANISM_FENTRY;
	if (!strcmp(name, "tracepoint"))
		return MECHANISM_TRACEPOINT;
	return MECHANISM_NONE;
}

/* Can this kernel do it? If not, why. */
static bool way_possible(const struct hook_way *way, const struct kernel_facts *facts, char *reason,
			 size_t size)
{
	const struct tracepoint_need *need;
	const char *const *name;
	const char *refused = facts->fentry_refused(facts->context);
	int args;

	if (way->mechanism == MECHANISM_FENTRY && refused) {
		snprintf(reason, size, "%s", refused);
		return false;
	}
	for (name = way->functions; *name; name++) {
		if (facts->has_function(facts->context, *name))
			continue;
		snprintf(reason, size, "this kernel has no function %s", *name);
		return false;
	}
	if (way->code && !facts->has_code(facts->context, way->code)) {
		snprintf(reason, size, "/proc/kallsyms hides where %s is (kernel.kptr_restrict)",
			 way->code);
		return false;
	}
	for (need = way->tracepoints; need->name; need++) {
		args = facts->tracepoint_args(facts->context, need->name);
		if (args >= need->args)
			continue;
		snprintf(reason, size,
			 args < 0 ? "this kernel has no tracepoint %s"
				  : "tracepoint %s passes too few arguments here",
			 need->name);
		return false;
	}
	return true;
}

static bool has_way_by(const struct hook *hook, enum mechanism m)
{
	size_t i;

	for (i = 0; i < WAYS_MAX; i++)
		if (hook->ways[i].mechanism == m)
			return true;
	return false;
}

static void resolve_hook(struct plan_entry *entry, const struct hook *hook,
			 const struct kernel_facts *facts, enum mechanism forced)
{
	const struct hook_way *way;
	size_t i, used = 0;

	/* Only times depend on it, and fentry comes first anyway where it can be had. */
	if (forced == MECHANISM_FENTRY && hook != &hooks[HOOK_SEND])
		forced = MECHANISM_NONE;
	entry->status = HOOK_UNAVAILABLE;
	if (forced && !has_way_by(hook, forced))
		snprintf(entry->reason, sizeof(entry->reason), "no %s sees it",
			 mechanism_name(forced));
	for (i = 0; i < WAYS_MAX && hook->ways[i].mechanism; i++) {
		way = &hook->ways[i];
		if (forced && way->mechanism != forced)
			continue;
		/* The reasons of all the ways tried, in order. */
		if (used && used + 2 < sizeof(entry->reason))
			used += snprintf(entry->reason + used, sizeof(entry->reason) - used, "; ");
		if (!way_possible(way, facts, entry->reason + used, sizeof(entry->reason) - used)) {
			used = strlen(entry->reason);
			continue;
		}
		entry->way = way;
		entry->status = HOOK_PLANNED;
		snprintf(entry->reason, sizeof(entry->reason), "%s",
			 way->misses ? way->misses : "");
		return;
	}
}

bool plan__resolve(struct plan *plan, const struct kernel_facts *facts, enum mechanism forced,
		   bool zerocopy)
{
	struct plan_entry *entry;
	enum hook_id id;

	memset(plan, 0, sizeof(*plan));
	for (id = 0; id < HOOK_COUNT; id++) {
		entry = &plan->entries[id];
		if (hooks[id].zerocopy_only && !zerocopy) {
			entry->status = HOOK_DISABLED;
			snprintf(entry->reason, sizeof(entry->reason),
				 "this load never asks for zero-copy");
			continue;
		}
		resolve_hook(entry, &hooks[id], facts, forced);
	}
	return plan->entries[HOOK_SEND].way;
}

enum mechanism plan__tier(const struct plan *plan)
{
	const struct hook_way *way = plan->entries[HOOK_SEND].way;

	return way ? way->mechanism : MECHANISM_NONE;
}
