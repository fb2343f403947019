// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kernel/plan.h"

#include "common/program.h"

#include <stdio.h>
#include <string.h>

#define TURNED_OFF "turned off by --mechanism none"
#define PREEMPTED                                                                        \
	"this kernel preempts its programs: what other threads of the CPU do meanwhile " \
	"is not seen"

/* Adds a reason unless it was added before. Returns false, which the callers return, too. */
static bool give_reason(struct plan_entry *entry, const char *format, const char *a, const char *b)
{
	char reason[sizeof(entry->reason)];

	snprintf(reason, sizeof(reason), format, a, b);
	if (!strstr(entry->reason, reason))
		text__append(entry->reason, sizeof(entry->reason), "%s%s",
			     entry->reason[0] ? "; " : "", reason);
	return false;
}

/* The link-time optimiser renames a static function without changing its arguments. */
static bool same_arguments(const char *variant)
{
	return strstr(variant, ".llvm.");
}

/*
 * A compiler may split a function (.part, .cold), or change its arguments for some or all callers
 * (.constprop, .isra). If the function remains beside the variant, the hook sees fewer calls. If
 * only the variant is left, it cannot be hooked, because its arguments have moved.
 */
static bool function_usable(struct plan_entry *entry, enum mechanism m, const char *name,
			    const struct kernel_function *f)
{
	const char *symbol = f->code ? name : f->variant;

	if (!f->code && !f->variant[0])
		return give_reason(entry, "this kernel has no function %s", name, "");
	if (!f->code && (m == MECHANISM_FENTRY || !same_arguments(f->variant)))
		return give_reason(entry, "this kernel has %s only as %s", name, f->variant);
	if (m == MECHANISM_FENTRY && !f->typed)
		return give_reason(entry, "this kernel's BTF does not describe %s", name, "");
	snprintf(entry->symbol, sizeof(entry->symbol), "%s", symbol);
	return true;
}

static bool choose_function(struct plan_entry *entry, const struct hook_option *option,
			    const struct kernel_facts *facts, char *variant)
{
	struct kernel_function f;
	const char *const *name;

	if (!option->functions[0])
		return true;
	for (name = option->functions; *name; name++) {
		facts->function(facts->features, *name, &f);
		if (!function_usable(entry, option->mechanism, *name, &f))
			continue;
		snprintf(variant, SYMBOL_MAX, "%s", f.code ? f.variant : "");
		return true;
	}
	return false;
}

static bool has_tracepoints(struct plan_entry *entry, const struct hook_option *option,
			    const struct kernel_facts *facts)
{
	int args;

	for (const struct tracepoint_need *need = option->tracepoints; need->name; need++) {
		args = facts->tracepoint_args(facts->features, need->name);
		if (args < need->args)
			return give_reason(entry,
					   args < 0 ? "this kernel has no tracepoint %s"
						    : "tracepoint %s passes too few arguments here",
					   need->name, "");
	}
	if (!option->functions[0])
		hook_option__symbols(option, entry->symbol, sizeof(entry->symbol));
	return true;
}

/*
 * While a thread is preempted inside a program, the kernel skips that program in all other threads
 * of the CPU. A kprobe's program cannot be preempted.
 */
static bool preempted(const struct hook_option *option, const struct kernel_facts *facts)
{
	return option->preemptible && facts->preempts;
}

static void find_second(struct plan_entry *entry, const struct hook_option *option,
			const struct kernel_facts *facts)
{
	struct kernel_function f = {};

	if (option->also)
		facts->function(facts->features, option->also, &f);
	entry->also = f.code && (option->mechanism != MECHANISM_FENTRY || f.typed);
	if (f.code && !entry->also)
		give_reason(entry, "this kernel's BTF does not describe %s: its sends are not seen",
			    option->also, "");
}

/* Returns whether this kernel supports the option. Adds why not, or what it may miss. */
static bool option_possible(struct plan_entry *entry, const struct hook_option *option,
			    const struct kernel_facts *facts)
{
	const char *refused = facts->refused[option->mechanism];
	char variant[SYMBOL_MAX] = "";

	if (refused && refused[0])
		return give_reason(entry, "%s", refused, "");
	if (option->by_graph && !facts->graph_probes)
		return give_reason(entry, "%s",
				   "this kernel makes no kprobes by the function graph tracer", "");
	if (!choose_function(entry, option, facts, variant) ||
	    !has_tracepoints(entry, option, facts))
		return false;
	if (option->type && !facts->has_type(facts->features, option->type))
		return give_reason(entry, "this kernel has no struct %s", option->type, "");
	if (option->code && !facts->has_code(facts->features, option->code))
		return give_reason(entry,
				   "/proc/kallsyms hides where %s is (it needs CAP_SYSLOG, and "
				   "kernel.kptr_restrict below 2)",
				   option->code, "");
	entry->option = option;
	entry->status = HOOK_PLANNED;
	entry->reason[0] = 0;
	find_second(entry, option, facts);
	if (option->misses)
		give_reason(entry, "%s", option->misses, "");
	if (preempted(option, facts))
		give_reason(entry, "%s", PREEMPTED, "");
	if (variant[0])
		give_reason(entry, "calls that the compiler sent to %s are not seen", variant, "");
	return true;
}

/* Returns whether the send hook attaches this program. */
static bool sends_use(const struct plan *plan, const char *program)
{
	const struct hook_option *option = plan->entries[HOOK_SEND].option;
	const char *const *name;

	for (name = option ? option->programs : NULL; name && *name; name++)
		if (!strcmp(*name, program))
			return true;
	return false;
}

static bool permitted(const struct plan *plan, enum hook_id id, const struct hook_option *option,
		      enum mechanism forced)
{
	if (option->with_sends && !sends_use(plan, option->programs[0]))
		return false;
	return !forced || option->mechanism == forced ||
	       (id != HOOK_SEND && option->mechanism == MECHANISM_TRACEPOINT);
}

/* Uses the best option that the kernel supports. Returns whether any was tried. */
static bool try_options(struct plan *plan, enum hook_id id, const struct kernel_facts *facts,
			enum mechanism forced, bool preemptible)
{
	struct plan_entry *entry = &plan->entries[id];
	const struct hook_option *options = hook__get(id)->options;
	bool tried = false;

	for (size_t i = 0; i < HOOK_OPTIONS_MAX && options[i].mechanism && !entry->option; i++) {
		if (!permitted(plan, id, &options[i], forced) ||
		    (!preemptible && preempted(&options[i], facts)))
			continue;
		tried = true;
		option_possible(entry, &options[i], facts);
	}
	return tried;
}

/* Chooses the option of a hook. Prefers options that cannot be preempted. */
static void resolve_hook(struct plan *plan, enum hook_id id, const struct kernel_facts *facts,
			 enum mechanism forced)
{
	struct plan_entry *entry = &plan->entries[id];

	entry->status = HOOK_UNAVAILABLE;
	try_options(plan, id, facts, forced, false);
	if (entry->option)
		return;
	entry->reason[0] = 0;
	if (!try_options(plan, id, facts, forced, true))
		give_reason(entry, "no %s sees it", mechanism_name(forced), "");
	if (!entry->option)
		entry->symbol[0] = 0;
}

static void disable(struct plan_entry *entry, const char *why)
{
	*entry = (struct plan_entry){.status = HOOK_DISABLED};
	give_reason(entry, "%s", why, "");
}

/* Returns why the hook is not used; NULL: it is used. */
static const char *useless(const struct hook *hook, const struct plan *plan, enum mechanism forced,
			   unsigned int what)
{
	bool wants_stages = what & PLAN_STAGES, wants_packets = what & PLAN_PACKETS;

	what &= ~(PLAN_STAGES | PLAN_PACKETS);
	if (forced == MECHANISM_OFF)
		return TURNED_OFF;
	if (hook->stages_only && !wants_stages)
		return "only with --stages, which slows sends";
	if (hook->packets_only && !wants_packets)
		return "only with --packets, which slows sends";
	if (hook->zerocopy_only && what == PLAN_COPYING_LOAD)
		return PLAN_NEVER_ASKS;
	if (hook->observed_only && what != PLAN_OBSERVATION)
		return "no load of sendpath does that";
	if (hook->load_only && what == PLAN_OBSERVATION)
		return hook->load_only;
	if (hook->observed_only && plan__mechanism(plan) == MECHANISM_TRACEPOINT)
		return "the tracepoints of sends see it";
	return NULL;
}

bool plan__resolve(struct plan *plan, const struct kernel_facts *facts, enum mechanism forced,
		   unsigned int what)
{
	const char *why;

	memset(plan, 0, sizeof(*plan));
	for (enum hook_id id = 0; id < HOOK_COUNT; id++) {
		why = useless(hook__get(id), plan, forced, what);
		if (why)
			disable(&plan->entries[id], why);
		else
			resolve_hook(plan, id, facts, forced);
	}
	return forced == MECHANISM_OFF || plan->entries[HOOK_SEND].option;
}

bool plan__options(struct plan *plan, const struct kernel_facts *facts, enum hook_id first,
		   enum hook_id end, size_t number)
{
	bool possible = false;

	memset(plan, 0, sizeof(*plan));
	for (enum hook_id id = 0; id < HOOK_COUNT; id++) {
		disable(&plan->entries[id], "not requested");
		if (id < first || id >= end || !hook__get(id)->options[number].mechanism)
			continue;
		plan->entries[id] = (struct plan_entry){.status = HOOK_UNAVAILABLE};
		if (option_possible(&plan->entries[id], &hook__get(id)->options[number], facts))
			possible = true;
		else
			plan->entries[id].symbol[0] = 0;
	}
	return possible;
}

const char *plan_entry__program(const struct plan_entry *entry, size_t i, const char **symbol)
{
	const struct hook_option *option = entry->option;
	size_t count = 0;

	while (option && option->programs[count])
		count++;
	*symbol = i < count ? entry->symbol : option ? option->also : NULL;
	if (i < count)
		return option->programs[i];
	return entry->also ? option->also_programs[i - count] : NULL;
}

enum mechanism plan__mechanism(const struct plan *plan)
{
	const struct plan_entry *send = &plan->entries[HOOK_SEND];

	if (send->status == HOOK_DISABLED)
		return MECHANISM_OFF;
	return send->option ? send->option->mechanism : MECHANISM_NONE;
}

/* Sends of all protocols pass the tracepoint sock_send_length, which these options use. */
bool plan__sees_others(const struct plan *plan)
{
	const struct hook_option *send = plan->entries[HOOK_SEND].option;

	return plan->entries[HOOK_SEND_OVER].option || (send && send->counts_at_end);
}

const char *plan__blind_to_unflagged(const struct plan *plan)
{
	static const enum hook_id unflagged[] = {HOOK_SKB_SEGMENT, HOOK_SKB_PULL,
						 HOOK_SKB_DUPLICATE};
	const struct plan_entry *copy = &plan->entries[HOOK_SKB_COPY];

	if (!copy->option)
		return copy->reason;
	/* Inference by the path finds the unflagged copies for devices without scatter-gather. */
	if (copy->option->by_path)
		return NULL;
	for (size_t i = 0; i < sizeof(unflagged) / sizeof(unflagged[0]); i++)
		if (!plan->entries[unflagged[i]].option)
			return plan->entries[unflagged[i]].reason;
	return NULL;
}
