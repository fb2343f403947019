// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/commands.h"

#include "common/capabilities.h"
#include "user/run/host.h"
#include "user/system/front.h"
#include "user/system/privilege.h"
#include "user/trace/tracer.h"

#include "common/json.h"

#include <string.h>

static json_object *hook_json(const struct plan_entry *entry, enum hook_id id)
{
	json_object *o = json_object_new_object();

	json__add_string(o, "name", hook__get(id)->name);
	json__add_truth(o, "stages_only", hook__get(id)->stages_only);
	json__add_string(o, "mechanism",
			 entry->option ? mechanism_name(entry->option->mechanism) : NULL);
	json__add_string(o, "symbol", entry->option ? entry->symbol : NULL);
	json__add_truth(o, "disabled", entry->status == HOOK_DISABLED);
	json__add_string(o, "reason", entry->reason);
	return o;
}

/* Adds the memory of the maps of an observation, whose programs it loads for this. */
static void add_maps(json_object *o, struct plan *plan, const struct features *features)
{
	struct tracer_setup setup = {.features = features, .receivers = true};
	struct tracer *tracer = NULL;
	struct failure f = {};

	tracer__attach(&tracer, plan, &setup, &f);
	if (f.status) {
		json__add_string(o, "maps_reason", f.text);
		return;
	}
	json__add_count(o, "map_bytes", tracer__map_bytes(tracer));
	json__add_count(o, "sockets_most", tracer__sockets_most(tracer));
	tracer__free(tracer);
}

/*
 * Adds the hooks. Hooks that only a load uses are planned for a load, the others for an
 * observation. Returns whether sends can be timed.
 */
static bool add_hooks(json_object *o)
{
	json_object *list = json_object_new_array();
	struct features *features;
	struct kernel_facts facts;
	struct plan observed, load;
	struct failure f = {};
	bool ok;
	int err = features__probe(&features, true, &f);

	json__add(o, "hooks", list);
	json__add_string(o, "btf",
			 err == -ENOMEM	  ? "no memory"
			 : err == -ENOENT ? "missing"
					  : "yes");
	if (err) {
		json__add_string(o, "hooks_reason", f.text);
		return false;
	}
	facts = features__facts(features);
	ok = plan__resolve(&observed, &facts, MECHANISM_NONE, PLAN_OBSERVATION | PLAN_STAGES);
	plan__resolve(&load, &facts, MECHANISM_NONE, PLAN_ZEROCOPY_LOAD);
	for (enum hook_id id = 0; id < HOOK_COUNT; id++)
		json_object_array_add(list,
				      hook_json(hook__get(id)->load_only ? &load.entries[id]
									 : &observed.entries[id],
						id));
	json__add_truth(o, "sees_others", plan__sees_others(&observed));
	plan__resolve(&observed, &facts, MECHANISM_NONE, PLAN_OBSERVATION);
	add_maps(o, &observed, features);
	features__free(features);
	return ok;
}

/*
 * Adds the facts that need privilege. The front adds the rest, and turns them into sentences.
 * Returns whether sends can be timed.
 */
static bool add_facts(json_object *o)
{
	struct host host;

	host__read(&host);
	json__add_string(o, "schema", "sendpath.doctor/1");
	json__add(o, "host", host__json(&host));
	json__add_string(o, "lacking", privilege__lacking());
	json__add_truth(o, "syslog", capabilities__has(CAP_SYSLOG, CAP_EFFECTIVE));
	return add_hooks(o);
}

/*
 * Attaches each hook's option of this number, to test it: all hooks at once, which takes a fraction
 * of the time, or one by one if the kernel refuses them together.
 */
static void attach_options(struct plan *plan, const struct features *features, enum hook_id first,
			   enum hook_id end, size_t number)
{
	struct kernel_facts facts = features__facts(features);
	struct tracer_setup setup = {.features = features, .receivers = true};
	struct plan_entry *entry = &plan->entries[first];
	struct tracer *tracer = NULL;
	struct failure f = {};
	struct plan one;

	if (!plan__options(plan, &facts, first, end, number))
		return;
	tracer__attach(&tracer, plan, &setup, &f);
	tracer__free(tracer);
	if (!f.status)
		return;
	if (end - first == 1) {
		entry->option = NULL;
		snprintf(entry->reason, sizeof(entry->reason), "%.*s",
			 (int)sizeof(entry->reason) - 1, f.text);
		return;
	}
	for (; first < end; first++) {
		attach_options(&one, features, first, first + 1, number);
		plan->entries[first] = one.entries[first];
	}
}

static void print_option(const struct plan_entry *entry, enum hook_id id,
			 const struct hook_option *option)
{
	char symbols[SYMBOL_MAX];

	hook_option__symbols(option, symbols, sizeof(symbols));
	printf("%s\t%s\t%s%s\t%s\t%s\n", hook__get(id)->name, mechanism_name(option->mechanism),
	       entry->symbol[0] ? entry->symbol : symbols,
	       option->by_graph	  ? " by function graph"
	       : option->by_stack ? " by stack"
				  : "",
	       !entry->option	  ? "unavailable"
	       : entry->reason[0] ? "may miss"
				  : "attached",
	       entry->reason);
}

static int no_such_hook(const char *name)
{
	char names[256] = "";

	for (enum hook_id id = 0; id < HOOK_COUNT; id++)
		text__append(names, sizeof(names), "%s%s", id ? ", " : "", hook__get(id)->name);
	return program__fail(STATUS_USAGE, "doctor --hooks=%s: no such hook; there are %s", name,
			     names);
}

/* Tries every option of every hook, or of one hook. Prints a table that programs can read. */
static int list_hooks(const char *name)
{
	static struct plan plans[HOOK_OPTIONS_MAX]; /* by the number of the option */
	struct features *features;
	struct failure f = {};
	enum hook_id id = 0, end = HOOK_COUNT;
	bool works = false;
	size_t i;

	if (name) {
		while (id < HOOK_COUNT && strcmp(hook__get(id)->name, name))
			id++;
		if (id == HOOK_COUNT)
			return no_such_hook(name);
		end = id + 1;
	}
	if (features__probe(&features, true, &f))
		return program__fail(STATUS_SYSTEM, "%s", f.text);
	for (i = 0; i < HOOK_OPTIONS_MAX; i++)
		attach_options(&plans[i], features, id, end, i);
	features__free(features);
	puts("hook\tmechanism\tsymbol\tstatus\treason");
	for (; id < end; id++) {
		for (i = 0; i < HOOK_OPTIONS_MAX && hook__get(id)->options[i].mechanism; i++) {
			print_option(&plans[i].entries[id], id, &hook__get(id)->options[i]);
			works |= plans[i].entries[id].option && (name || id == HOOK_SEND);
		}
	}
	return works ? 0 : STATUS_SYSTEM;
}

static int report_facts(void)
{
	struct failure f = {};
	struct front *front;
	json_object *o;
	bool ok;
	int err, status;

	if (front__start(&front, &f))
		return program__fail(f.status, "%s", f.text);
	o = json_object_new_object();
	ok = add_facts(o);
	err = front__send(front, json__line(o));
	if (!err)
		json_object_put(front__receive(front, &err)); /* the front has read everything */
	status = front__end(front, false);
	front__free(front);
	return err || status ? STATUS_FAILED : ok ? STATUS_OK : STATUS_SYSTEM;
}

int doctor(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--hooks"))
		return list_hooks(NULL);
	if (argc == 2 && !strncmp(argv[1], "--hooks=", strlen("--hooks=")))
		return list_hooks(argv[1] + strlen("--hooks="));
	if (argc == 2 && !strcmp(argv[1], "--help")) {
		puts("Usage: analyze doctor [--hooks[=NAME]]\n"
		     "List what can be measured here, with which hooks, and what is missing.\n"
		     "--hooks tries every mechanism of every hook, or of one, and prints a table.");
		return STATUS_OK;
	}
	if (argc > 1)
		return program__fail(STATUS_USAGE,
				     "doctor: %s is unknown: give --hooks, --hooks=NAME or nothing",
				     argv[1]);
	return report_facts();
}
