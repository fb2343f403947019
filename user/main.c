// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * options -> front -> features -> privileges -> runs that the front asks for.
 * This file holds the order of things; each step is a file of its own.
 */
#include "user/commands.h"
#include "user/engine.h"
#include "user/exporter/exporter.h"
#include "user/system/files.h"
#include "user/system/log.h"
#include "user/system/privilege.h"
#include "user/system/signals.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "loadgen/options/help.h"
#include "loadgen/send/send_ops.h"

static bool may_use_zerocopy(const struct options *o)
{
	const struct load_options *load = &o->load;
	size_t i;

	if (o->target.given)
		return true;
	if (load->load.workload == WORKLOAD_PROCINFO)
		return false;

	for (i = 0; i < load->variants.count; i++)
		if (variants__find(load->variants.of[i])->flags & SEND_ZEROCOPY)
			return true;
	return false;
}

/* What is opened for all runs, and must outlive them. */
struct resources {
	struct counter_events *events, *call_counters;
	struct features *features;
	struct host host;
	struct child child;
	struct interval_printer live;
	struct memory *memory;
	struct front *front;
	char untraced[600];
};

static void let_go(struct resources *h)
{
	counter_events__free(h->events);
	counter_events__free(h->call_counters);
	features__free(h->features);
	memory__free(h->memory);
	front__free(h->front);
	if (h->child.pid)
		child__free(&h->child);
}

static int parse_events(struct counter_events **events, const char *option, const char *list,
			size_t max)
{
	char reason[256] = "";

	if (!list)
		return STATUS_OK;
	if (counter_events__parse(events, list, max, reason, sizeof(reason))) {
		log_error("%s %s (showevtinfo of libpfm4 lists the names)", option, reason);
		return STATUS_USAGE;
	}
	return STATUS_OK;
}

static int parse_call_counters(struct resources *h, const char *list)
{
	int status = parse_events(&h->call_counters, "--call-counters", list, CALL_COUNTERS_MAX);
	const char *zero = status ? NULL : call_counters__always_zero(h->call_counters);

	if (!zero)
		return status;
	log_error("--call-counters %s: would always be 0, because sends that lose their CPU are "
		  "left out; leave it out, or count it of the whole run with --events",
		  zero);
	return STATUS_USAGE;
}

/*
 * Started with all of the user's capabilities, as by hand: an exec that gains some would close the
 * counters.
 */
static int start_command(struct resources *h, char *const *command)
{
	int err = child__start(&h->child, command);

	if (err)
		log_error("the command cannot be started: %s", strerror(-err));
	return err;
}

static struct measurement setup_of(const struct options *o, struct resources *h)
{
	return (struct measurement){
		.tracing = {.features = h->features,
			    .call_counters = h->call_counters,
			    .target = o->target.given ? &o->target : NULL,
			    .by = o->by,
			    .by_max = o->by_max,
			    .stages = o->stages,
			    .sample = o->sample,
			    .profile = o->profile,
			    .timeline = o->what == MEASURE_TIMELINE ? o->sends : 0,
			    .slower_ns = (__u64)(o->slower_than_s * 1e9 + 0.5),
			    .cost = o->cost},
		.mechanism = o->mechanism,
		.packets = o->packets,
		.events = h->events,
		.memory = h->memory};
}

static int fail_with(int status, const char *why)
{
	log_error("%s", why);
	return status;
}

/* The loads of advise need no tracing: it then uses the copies that their error queues report. */
static int untraced(struct engine *e, struct resources *h, int status, const char *why)
{
	if (!e->advise || e->parts[e->part_count - 1].target.given)
		return fail_with(status, why);
	snprintf(h->untraced, sizeof(h->untraced), "%s", why);
	e->untraced = h->untraced;
	return STATUS_OK;
}

static int probe(struct engine *e, struct resources *h)
{
	char reason[600] = "out of memory";
	int err;

	if (e->parts->mechanism == MECHANISM_OFF)
		return STATUS_OK;
	if (privilege__lacking())
		return untraced(e, h, STATUS_SYSTEM, privilege__lacking());
	/*
	 * Read before privileges are dropped: kallsyms shows addresses only to privileged readers.
	 */
	err = features__probe(&h->features,
			      may_use_zerocopy(e->parts) || e->parts->profile || e->parts->stages,
			      reason, sizeof(reason));
	return err ? untraced(e, h, err == -ENOMEM ? STATUS_FAILED : STATUS_SYSTEM, reason)
		   : STATUS_OK;
}

static int prepare(struct engine *e, struct resources *h)
{
	const struct options *o = e->parts;
	char *const *command = e->parts[e->part_count - 1].target.command;
	char reason[600] = "out of memory";
	int status, err;

	status = parse_events(&h->events, "--events", o->events, COUNTER_EVENTS_MAX);
	if (!status)
		status = parse_call_counters(h, o->call_counters);
	if (status)
		return status;
	status = probe(e, h);
	if (status)
		return status;
	err = privilege__become_user(reason, sizeof(reason));
	if (*reason)
		log_error("%s", reason);
	if (err)
		return STATUS_FAILED;
	status = o->memory ? memory__open(&h->memory, reason, sizeof(reason)) : STATUS_OK;
	if (status)
		return fail_with(status == -ENOENT ? STATUS_SYSTEM : STATUS_FAILED, reason);
	if (command && start_command(h, command))
		return STATUS_FAILED;
	e->child = command ? &h->child : NULL;
	if (privilege__reduce(o->cost, reason, sizeof(reason)))
		return fail_with(STATUS_FAILED, reason);
	host__read(&h->host);
	if (o->memory && !memory__asked(h->memory, 0) && !h->host.pmus[0])
		return fail_with(STATUS_SYSTEM,
				 "--memory: this machine shows no counters of the memory "
				 "system, and no LLC misses to estimate from");
	e->host = &h->host;
	e->setup = setup_of(o, h);
	return STATUS_OK;
}

static void skip(const char *why)
{
	log_error("skipped: %s", why);
}

/* Probed as the user who runs the load, who may lack permissions. */
static int settle_variants(struct load_options *load)
{
	char why[256];

	return load_options__keep_available(load, skip, why, sizeof(why))
		       ? fail_with(STATUS_SYSTEM, why)
		       : STATUS_OK;
}

/* A sweep continues without variants that are missing. */
static int make_runs(struct engine *e, struct resources *h, struct options *o)
{
	int status = o->target.given || o->what == MEASURE_SWEEP || e->advise
			     ? STATUS_OK
			     : settle_variants(&o->load);

	h->live = (struct interval_printer){.seconds = o->interval, .front = h->front};
	e->setup.live = o->interval > 0 ? &h->live : NULL;
	if (status)
		return status;
	return o->raw ? engine__run_alone(e) : engine__serve(e);
}

static int start_front(struct resources *h)
{
	char reason[600];

	return front__start(&h->front, reason, sizeof(reason)) ? fail_with(STATUS_SYSTEM, reason)
							       : STATUS_OK;
}

#define DESCRIPTORS_MIN 128 /* for programs, maps, links and counters; a load has its own */

/* Every command needs /proc. */
static int check_proc(void)
{
	return access("/proc/self/exe", F_OK)
		       ? fail_with(STATUS_SYSTEM,
				   "no /proc is mounted here: mount it (mount -t proc proc /proc)")
		       : STATUS_OK;
}

static int check_descriptors(void)
{
	struct rlimit limit = {0};
	char text[128];

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur >= DESCRIPTORS_MIN)
		return STATUS_OK;
	snprintf(text, sizeof(text),
		 "open files are limited to %llu, %d are needed: raise the limit (ulimit -n)",
		 (unsigned long long)limit.rlim_cur, DESCRIPTORS_MIN);
	return fail_with(STATUS_FAILED, text);
}

/* Returns false if there is nothing to measure: status is the exit status. */
static bool start(struct engine *e, struct resources *h, enum measuring what, int *status)
{
	*status = check_proc();
	if (!*status)
		*status = check_descriptors();
	if (!*status && what != MEASURE_EXPORTER && !e->parts->raw)
		*status = start_front(h);
	e->front = h->front;
	if (!*status && e->advise && !engine__ask_advise(e)) {
		*status = front__end(h->front, false);
		if (*status < 0)
			*status = fail_with(STATUS_FAILED,
					    "no advice: the front (" SYSTEM_PYTHON ") ended early");
		return false;
	}
	return !*status;
}

/* Frees parts. */
static int measure(struct options *parts, size_t count, enum measuring what, char **advise_words)
{
	struct resources resources = {};
	struct engine engine = {.parts = parts, .part_count = count, .advise = advise_words};
	bool ends_by_itself = (parts->target.command && !advise_words) || what == MEASURE_EXPORTER;
	int status;

	if (parts->verbose)
		log_verbose();
	if (start(&engine, &resources, what, &status))
		status = prepare(&engine, &resources);
	else
		engine.part_count = 0; /* nothing is measured */
	if (!status && engine.part_count)
		status = what == MEASURE_EXPORTER ? exporter__run(parts, &engine.setup, engine.host)
						  : make_runs(&engine, &resources, parts);
	/* A command's exit status becomes that of the program, unless a signal ended the report. */
	if (resources.front && front__end(resources.front, false) < 0)
		ends_by_itself = false;
	let_go(&resources);
	free(parts);
	if (signals__caught() && !ends_by_itself)
		program__die_by(signals__caught());
	return status;
}

static int measure_words(int argc, char **argv, enum measuring what)
{
	size_t count;
	struct options *parts = options__parse(argc, argv, what, &count);

	return measure(parts, count, what, NULL);
}

int sweep(int argc, char **argv)
{
	argv[0] = program_invocation_name;
	return measure_words(argc, argv, MEASURE_SWEEP);
}

int timeline(int argc, char **argv)
{
	argv[0] = program_invocation_name;
	return measure_words(argc, argv, MEASURE_TIMELINE);
}

int exporter(int argc, char **argv)
{
	argv[0] = program_invocation_name;
	return measure_words(argc, argv, MEASURE_EXPORTER);
}

int advise(int argc, char **argv)
{
	size_t count;
	struct options *parts;

	argv[0] = program_invocation_name;
	parts = options__parse_advise(argc, argv, &count);
	return parts ? measure(parts, count, MEASURE_RUNS, argv)
		     : fail_with(STATUS_FAILED, "out of memory");
}

#define COMMAND(name, run, line) {name, run},
/* clang-format off */
static const struct command commands[] = {COMMANDS(COMMAND) {"help", help}, {}};
/* clang-format on */

static const struct command *find_command(const char *name)
{
	const struct command *c = commands;

	while (c->name && strcmp(c->name, name))
		c++;
	return c->name ? c : NULL;
}

static bool is_program(const char *name)
{
	const char *path = getenv("PATH");
	char file[PATH_MAX];
	size_t length;

	if (strchr(name, '/'))
		return !access(name, X_OK);
	for (; path && *path; path += length + (path[length] == ':')) {
		length = strcspn(path, ":");
		snprintf(file, sizeof(file), "%.*s/%s", (int)length, path, name);
		if (!access(file, X_OK))
			return true;
	}
	return false;
}

/* The first word is neither an option nor a command. */
static int refuse_command(const char *word)
{
	const struct command *c = commands;

	while (c->name && help__distance(word, c->name) > 2)
		c++;
	if (c->name)
		log_error("there is no command %s: did you mean %s?", word, c->name);
	else if (is_program(word))
		log_error("to observe a program, put -- before it: %s -- %s",
			  program_invocation_short_name, word);
	else
		log_error("there is no command %s (--help lists them)", word);
	return STATUS_USAGE;
}

/* Prints the help of a command or topic; argv[0] is neither. */
static int show_help(const char *name)
{
	const struct command *c = name ? find_command(name) : NULL;
	char topic[64] = "--help";

	if (c)
		return c->run(2, (char *[]){(char *)name, topic, NULL});
	if (name)
		snprintf(topic, sizeof(topic), "--help=%s", name);
	return measure_words(2, (char *[]){program_invocation_name, topic, NULL}, MEASURE_RUNS);
}

int help(int argc, char **argv)
{
	if (argc > 2)
		return fail_with(STATUS_USAGE, "help takes one word: a command, or a topic");
	return show_help(argc == 2 && argv[1][0] != '-' ? argv[1] : NULL);
}

int main(int argc, char **argv)
{
	const struct command *c = argc > 1 ? find_command(argv[1]) : NULL;
	int status;

	program__begin();
	log_init();
	if (c) {
		status = check_proc();
		return status ? status : c->run(argc - 1, argv + 1);
	}
	if (argc == 3 && !strcmp(argv[1], "--help"))
		return show_help(argv[2]);
	if (argc > 1 && argv[1][0] != '-')
		return refuse_command(argv[1]);
	return measure_words(argc, argv, MEASURE_RUNS);
}
