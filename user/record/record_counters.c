// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* counters[] and lost: what was counted beside the calls, and what escaped. */
#include "user/record/record_parts.h"

static json_object *counter(const struct counter_value *v, const char *scope)
{
	static const char *const statuses[] = {"counted", "not supported", "not counted"};
	json_object *o = json_object_new_object();
	bool counted = v->status == COUNTER_COUNTED;

	record__add_string(o, "event", v->event);
	json__add_text(o, "pmu", v->pmu);
	record__add_string(o, "scope", scope);
	record__add_int_if(o, "value", counted, (int64_t)(v->value + 0.5));
	record__add_string(o, "unit", v->unit[0] ? v->unit : "count");
	json__add_count(o, "enabled_ns", v->enabled_ns);
	json__add_count(o, "running_ns", v->running_ns);
	record__add_string(o, "status", statuses[v->status]);
	if (!counted)
		record__add_string(o, "reason", v->reason);
	return o;
}

static void add_side(json_object *list, const struct run_side *side, const char *scope)
{
	size_t i;

	for (i = 0; i < side->count; i++)
		json_object_array_add(list, counter(&side->values[i], scope));
}

json_object *record__counters(const struct run_result *r, const struct run_setup *setup,
			      struct unmeasured *u)
{
	json_object *list;

	if (setup->target && !setup->target->command) {
		unmeasured__add(u, "counters",
				"counters of programs that run already are not opened");
		return NULL;
	}
	list = json_object_new_array();
	add_side(list, &r->sender, setup->target ? "command" : "sender");
	if (!setup->target)
		add_side(list, &r->receiver, "receiver");
	return list;
}

/*
 * A missed completion shows as a send without one. The next notification of its
 * socket makes up for it, the last one of a window cannot. Of kprobes' programs
 * older kernels do not tell which were skipped: a window closes with all sends
 * completed, so what is outstanding was missed.
 */
static __u64 lost_completions(const struct run_result *r)
{
	const struct hook_option *option = r->plan.entries[HOOK_COMPLETION].option;
	const struct measured *m = &r->measured;
	__u64 lost = m->totals.lost_completions + m->totals.lost_notifications;
	bool skipped = m->missed[HOOK_COMPLETION] > m->missed_coalesced;

	bool drained = !r->observed_s; /* a load's window closes so; a program's does not */

	/* Those that no completion can be told of are among these. */
	if (option && drained && (skipped || option->mechanism == MECHANISM_KPROBE))
		return lost + measured__outstanding(m);
	return lost + m->totals.untracked;
}

json_object *record__lost(const struct run_result *r, struct unmeasured *u)
{
	const struct plan_entry *send = &r->plan.entries[HOOK_SEND];
	json_object *o;

	if (!unmeasured__unless_hooked(u, "lost", r, HOOK_SEND))
		return NULL;
	o = json_object_new_object();
	json__add_count(o, "calls",
			measured__lost_calls(&r->measured, send->option, send->reason[0]));
	json__add_count(o, "completions", lost_completions(r));
	/*
	 * Of notifications that joined another, those whose own flag nobody read: the look was
	 * skipped or came before the count or too late for it, or no program looks. The function's
	 * hook sees them before they merge.
	 */
	json__add_count(o, "flags",
			measured__difference(r->measured.totals.coalesced,
					     r->measured.totals.coalesced_seen));
	json__add_count(o, "groups", r->measured.groups.rest.sends + r->measured.peers.rest.sends);
	json__add_known(o, "stacks", unmeasured__unless_hooked(u, "lost.stacks", r, HOOK_SKB_COPY),
			r->measured.unnamed.skbs + r->measured.totals.lost_cause_bits);
	return o;
}
