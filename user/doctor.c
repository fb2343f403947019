// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/commands.h"

#include "common/capabilities.h"
#include "common/program.h"
#include "user/kernel/features.h"
#include "user/kernel/netdev.h"
#include "user/run/host.h"
#include "user/system/files.h"
#include "user/system/log.h"
#include "user/system/privilege.h"
#include "user/trace/tracer.h"

#include "common/units.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static __attribute__((format(printf, 2, 3))) void print_line(const char *what, const char *format,
							     ...)
{
	va_list args;

	printf("%-25s ", what);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

static void print_capabilities(void)
{
	const char *lacking = privilege__lacking();

	print_line("capabilities", "%s%s%s", lacking ? "not enough: " : "",
		   lacking ? lacking : "enough to load BPF programs",
		   lacking || capabilities__has(CAP_SYSLOG, CAP_EFFECTIVE)
			   ? ""
			   : "; without CAP_SYSLOG /proc/kallsyms hides where functions lie, and "
			     "the flags of some completions are lost");
}

static void print_kernel(const struct host *h)
{
	char text[256];
	int err = features__types();

	print_line("kernel", "Linux %s %s%s", h->kernel, h->arch, h->debug_kernel ? ", debug" : "");
	print_line("machine", "%d CPUs%s%s%s", h->nproc, h->virtualized ? ", virtual" : "",
		   h->cpu[0] ? ", " : "", h->cpu);
	print_line("BTF", "%s",
		   !err		    ? "yes"
		   : err == -ENOMEM ? "not read: no memory for it"
				    : "missing: the programs cannot be loaded");
	if (files__first_line("/sys/kernel/security/lockdown", text, sizeof(text)))
		print_line("lockdown", "%s%s", text,
			   strstr(text, "[confidentiality]") ? ": reading kernel memory is refused"
							     : "");
	else
		print_line("lockdown", "none");
	print_capabilities();
	print_line("PID namespace", "%s",
		   target__pid_namespace() ? "a container's: process ids are those of it, "
					     "processes elsewhere have none"
					   : "the initial one");
	print_line("PMU", "%s",
		   h->pmu ? h->pmu_names
			  : "none usable: cycles and cache misses are not supported");
	if (h->governor[0])
		print_line("governor", "%s", h->governor);
}

static void print_limits(void)
{
	char text[64];
	struct rlimit memlock;

	if (files__first_line("/proc/sys/net/core/optmem_max", text, sizeof(text)))
		print_line("optmem_max",
			   "%s bytes a socket: bounds zero-copy notifications waiting (ENOBUFS "
			   "beyond)",
			   text);
	getrlimit(RLIMIT_MEMLOCK, &memlock);
	print_line("memlock", "%s a user: bounds zero-copy data in flight, except for root",
		   memlock.rlim_cur == RLIM_INFINITY ? "unlimited"
						     : units__size_text(memlock.rlim_cur));
}

static void print_hook(const struct plan_entry *entry, enum hook_id id)
{
	char name[32];

	snprintf(name, sizeof(name), "hook %s", hook__get(id)->name);
	if (entry->option)
		print_line(name, "%s: %s%s%s%s", mechanism_name(entry->option->mechanism),
			   entry->symbol, entry->reason[0] ? " (" : "", entry->reason,
			   entry->reason[0] ? ")" : "");
	else
		print_line(name, "%s: %s",
			   entry->status == HOOK_DISABLED ? "not needed" : "unavailable",
			   entry->reason);
}

/* They are many, and nearly all alike: what is said of each is said of those that are not there. */
static void print_stages(const struct plan *plan)
{
	unsigned int count = 0, there = 0;
	const char *reason = "";
	enum hook_id id;

	for (id = 0; id < HOOK_COUNT; id++) {
		if (!hook__get(id)->stages_only)
			continue;
		count++;
		there += plan->entries[id].option != NULL;
		if (!plan->entries[id].option && !reason[0])
			reason = plan->entries[id].reason;
	}
	print_line("stages of a send", "%u of their %u hooks%s%s", there, count,
		   reason[0] ? "; of the others: " : "", reason);
}

/* Can sends be timed? What only a load has use for is planned as for one. */
static bool print_hooks(void)
{
	struct features *features;
	struct kernel_facts facts;
	struct plan observed, load;
	char reason[256] = "";
	enum hook_id id;
	bool ok;

	if (features__probe(&features, true, reason, sizeof(reason))) {
		print_line("hooks", "unavailable: %s", reason);
		return false;
	}
	facts = features__facts(features);
	ok = plan__resolve(&observed, &facts, MECHANISM_NONE, PLAN_OBSERVATION | PLAN_STAGES);
	plan__resolve(&load, &facts, MECHANISM_NONE, PLAN_ZEROCOPY_LOAD);
	for (id = 0; id < HOOK_COUNT && !hook__get(id)->stages_only; id++)
		print_hook(hook__get(id)->load_only ? &load.entries[id] : &observed.entries[id],
			   id);
	print_stages(&observed);
	print_line("other protocols", "not measured; MPTCP sends and zero-copy sends by UDP are %s",
		   plan__sees_others(&observed)
			   ? "counted where a program is observed"
			   : "not counted: this kernel has no tracepoint for them");
	features__free(features);
	return ok;
}

/* Loads and attaches one option of a hook. True if it works. */
static bool try_option(const struct features *features, enum hook_id id,
		       const struct hook_option *option)
{
	struct kernel_facts facts = features__facts(features);
	struct tracer_setup setup = {.features = features};
	char reason[600] = "", symbols[SYMBOL_MAX];
	const struct plan_entry *entry;
	struct tracer *tracer = NULL;
	struct plan plan;
	bool planned;

	entry = &plan.entries[id];
	hook_option__symbols(option, symbols, sizeof(symbols));
	planned = plan__only(&plan, &facts, id, option);
	if (planned)
		snprintf(symbols, sizeof(symbols), "%s", entry->symbol);
	if (!planned || !tracer__attach(&tracer, &plan, &setup, reason, sizeof(reason)))
		snprintf(reason, sizeof(reason), "%s", entry->reason);
	printf("%s\t%s\t%s%s\t%s\t%s\n", hook__get(id)->name, mechanism_name(option->mechanism),
	       symbols,
	       option->by_graph	  ? " by function graph"
	       : option->by_stack ? " by stack"
				  : "",
	       !tracer || !entry->option ? "unavailable"
	       : reason[0]		 ? "may miss"
					 : "attached",
	       reason);
	tracer__free(tracer);
	return tracer && entry->option;
}

static int no_such_hook(const char *name)
{
	char names[256] = "";
	size_t used = 0;
	enum hook_id id;

	for (id = 0; id < HOOK_COUNT && used < sizeof(names); id++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", id ? ", " : "",
					 hook__get(id)->name);
	log_error("doctor --hooks=%s: no such hook; there are %s", name, names);
	return STATUS_USAGE;
}

/* Tries every option of every hook, or of one: a table for programs. */
static int list_hooks(const char *name)
{
	struct features *features;
	const struct hook_option *option;
	char reason[256] = "";
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
	if (features__probe(&features, true, reason, sizeof(reason))) {
		log_error("%s", reason);
		return STATUS_SYSTEM;
	}
	puts("hook\tmechanism\tsymbol\tstatus\treason");
	for (; id < end; id++) {
		for (i = 0; i < HOOK_OPTIONS_MAX && hook__get(id)->options[i].mechanism; i++) {
			option = &hook__get(id)->options[i];
			if (try_option(features, id, option) && (name || id == HOOK_SEND))
				works = true;
			fflush(stdout);
		}
	}
	features__free(features);
	return works ? 0 : STATUS_SYSTEM;
}

static void print_device(void *context, const struct netdev *d)
{
	struct netdev_verdict verdict = netdev__zerocopy(d);
	char name[4 * IF_NAMESIZE], driver[4 * sizeof(d->driver)];

	(void)context;
	print_line("device", "%s%s%s%s: zero-copy %s: %s", safe_text(d->name, name, sizeof(name)),
		   d->driver[0] ? " (" : "", safe_text(d->driver, driver, sizeof(driver)),
		   d->driver[0] ? ")" : "", verdict.answer, verdict.why);
}

int doctor(int argc, char **argv)
{
	struct host host;
	bool ok;
	int err;

	if (argc == 2 && !strcmp(argv[1], "--hooks"))
		return list_hooks(NULL);
	if (argc == 2 && !strncmp(argv[1], "--hooks=", strlen("--hooks=")))
		return list_hooks(argv[1] + strlen("--hooks="));
	if (argc == 2 && !strcmp(argv[1], "--help")) {
		puts("Usage: analyze doctor [--hooks[=NAME]]\n"
		     "What can be measured here, by which hooks, and why not; with --hooks every "
		     "way\n"
		     "to hook is tried.");
		return STATUS_OK;
	}
	if (argc > 1) {
		log_error("doctor takes --hooks, --hooks=NAME or nothing: %s", argv[1]);
		return STATUS_USAGE;
	}
	host__read(&host);
	print_kernel(&host);
	print_limits();
	ok = print_hooks();
	err = netdev__each(print_device, NULL);
	if (err)
		print_line("devices", "cannot be listed: %s", strerror(-err));
	return ok ? 0 : STATUS_SYSTEM;
}
