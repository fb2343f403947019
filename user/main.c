// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The order of all steps. Each step has its own file:
 * options -> front -> features -> privileges -> runs that the front requests.
 */
#include "user/commands.h"
#include "user/engine.h"
#include "user/exporter/exporter.h"
#include "user/system/files.h"
#include "user/system/privilege.h"
#include "user/system/signals.h"

#include <bpf/libbpf.h>
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

	if (o->target.given)
		return true;
	if (load->load.workload == WORKLOAD_PROCINFO)
		return false;

	for (size_t i = 0; i < load->variants.count; i++)
		if (variants__find(load->variants.of[i])->flags & SEND_ZEROCOPY)
			return true;
	return false;
}

static int print_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_DEBUG ? 0 : vfprintf(stderr, format, args);
}

/* Resources of all runs. */
struct resources {
	struct counter_events *events, *call_counters;
	struct features *features;
	struct host host;
	struct child child;
	struct interval_sender live;
	struct interval_groups groups;
	struct memory *memory;
	struct front *front;
	struct failure untraced;
};

static void free_resources(struct resources *h)
{
	counter_events__free(h->events);
	counter_events__free(h->call_counters);
	features__free(h->features);
	memory__free(h->memory);
	front__free(h->front);
	interval_groups__free(&h->groups);
	if (h->child.pid)
		child__free(&h->child);
}

static int parse_events(const struct options *o, struct resources *h, struct failure *f)
{
	const char *zero;
	int err = 0;

	if (o->events)
		err = counter_events__parse(&h->events, "--events", o->events, COUNTER_EVENTS_MAX,
					    f);
	if (!err && o->call_counters)
		err = counter_events__parse(&h->call_counters, "--call-counters", o->call_counters,
					    CALL_COUNTERS_MAX, f);
	zero = err ? NULL : call_counters__always_zero(h->call_counters);
	if (!zero)
		return err;
	return failure__set(f, STATUS_USAGE, -EINVAL,
			    "--call-counters %s: would always be 0, because sends that lose their "
			    "CPU are left out; leave it out, or count it of the whole run with "
			    "--events",
			    zero);
}

static struct measurement measurement_of(const struct options *o, struct resources *h)
{
	return (struct measurement){
		.tracing = {.features = h->features,
			    .call_counters = h->call_counters,
			    .target = o->target.given ? &o->target : NULL,
			    .receivers = o->what != MEASURE_TOP,
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

/*
 * Probes the kernel before privileges are dropped: kallsyms shows addresses only to privileged
 * readers. A failure does not end advise if no program is given: advise then counts the copies that
 * the error queues of its loads report.
 */
static int probe(struct engine *e, struct resources *h, struct failure *f)
{
	const char *lacking = privilege__lacking();
	int err;

	if (e->parts->mechanism == MECHANISM_OFF)
		return 0;
	err = lacking ? failure__set(f, STATUS_SYSTEM, -EPERM, "%s", lacking)
		      : features__probe(&h->features,
					may_use_zerocopy(e->parts) || e->parts->profile ||
						e->parts->stages,
					f);
	if (!err || !e->advise || e->parts[e->part_count - 1].target.given)
		return err;
	h->untraced = *f;
	*f = (struct failure){};
	e->untraced = h->untraced.text;
	return 0;
}

/*
 * Starts the observed command with all of the user's capabilities, as a shell would: an exec that
 * gains capabilities would close the counters.
 */
static int start_command(struct engine *e, struct resources *h, struct failure *f)
{
	char *const *command = e->parts[e->part_count - 1].target.command;
	int err = command ? child__start(&h->child, command) : 0;

	e->child = command ? &h->child : NULL;
	return failure__set(f, STATUS_FAILED, err, "the command cannot be started: %m");
}

static int prepare_runs(struct engine *e, struct resources *h, struct failure *f)
{
	const struct options *o = e->parts;
	int err = parse_events(o, h, f);

	if (!err)
		err = probe(e, h, f);
	if (!err)
		err = privilege__become_user(f);
	if (!err && f->text[0])
		program__complain("%s", f->text);
	if (!err && o->memory)
		err = memory__open(&h->memory, f);
	if (!err)
		err = start_command(e, h, f);
	if (!err)
		err = privilege__reduce(o->cost, f);
	if (err)
		return err;
	host__read(&h->host);
	e->host = &h->host;
	e->setup = measurement_of(o, h);
	return o->memory && !memory__has_events(h->memory) && !h->host.pmus[0]
		       ? failure__set(f, STATUS_SYSTEM, -ENOTSUP,
				      "--memory: this machine has no counters of the memory "
				      "system, and no LLC misses for an estimate")
		       : 0;
}

static void report_skipped(const char *why)
{
	program__complain("skipped: %s", why);
}

/*
 * Makes the runs. Variants are probed as the user who runs the load, who may lack permissions. A
 * sweep probes the variants itself, and continues without missing ones.
 */
static int make_runs(struct engine *e, struct resources *h, struct options *o)
{
	char why[256];

	h->groups.room = o->by_max;
	h->live = (struct interval_sender){.seconds = o->interval,
					   .front = h->front,
					   .groups = o->what == MEASURE_TOP ? &h->groups : NULL};
	e->setup.live = o->interval > 0 ? &h->live : NULL;
	if (!o->target.given && o->what != MEASURE_SWEEP && !e->advise &&
	    load_options__keep_available(&o->load, report_skipped, why, sizeof(why)))
		return program__fail(STATUS_SYSTEM, "%s", why);
	return engine__make_runs(e);
}

#define DESCRIPTORS_MIN 128 /* programs, maps, links and counters; a load opens its own */

/* Every command needs /proc. */
static int check_proc(void)
{
	return access("/proc/self/exe", F_OK)
		       ? program__fail(
				 STATUS_SYSTEM,
				 "no /proc is mounted here: mount it (mount -t proc proc /proc)")
		       : STATUS_OK;
}

static int check_descriptors(struct failure *f)
{
	struct rlimit limit = {0};

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur >= DESCRIPTORS_MIN)
		return 0;
	return failure__set(
		f, STATUS_FAILED, -EMFILE,
		"open files are limited to %llu, %d are needed: raise the limit (ulimit -n)",
		(unsigned long long)limit.rlim_cur, DESCRIPTORS_MIN);
}

/* Returns false if advise can answer without measuring; *status is then the exit status. */
static bool requests_runs(struct engine *e, int *status)
{
	if (!e->advise || engine__parse_advise(e))
		return true;
	*status = front__end(e->front, false);
	if (*status < 0)
		*status = program__fail(STATUS_FAILED,
					"no advice: the front (" SYSTEM_PYTHON ") ended early");
	return false;
}

static int run_measurement(struct engine *e, struct resources *h, struct options *parts)
{
	bool exports = parts->what == MEASURE_EXPORTER;
	struct failure f = {};
	int status = check_proc(), err;

	if (status)
		return status;
	err = check_descriptors(&f);
	if (!err && !exports && !parts->raw)
		err = front__start(&h->front, &f);
	e->front = h->front;
	if (!err && !requests_runs(e, &status))
		return status;
	if (!err)
		err = prepare_runs(e, h, &f);
	if (err)
		return program__fail(f.status, "%s", f.text);
	return exports ? exporter__run(parts, &e->setup, e->host) : make_runs(e, h, parts);
}

/* Measures the parts, and frees them. Returns the exit status. */
static int measure_parts(struct options *parts, size_t count, char **advise_words)
{
	struct resources resources = {};
	struct engine engine = {.parts = parts, .part_count = count, .advise = advise_words};
	bool ends_by_itself =
		(parts->target.command && !advise_words) || parts->what == MEASURE_EXPORTER;
	int status;

	if (parts->verbose)
		libbpf_set_print(print_libbpf);
	status = run_measurement(&engine, &resources, parts);
	/* A command's exit status becomes that of the program, unless a signal ended the report. */
	if (resources.front && front__end(resources.front, false) < 0)
		ends_by_itself = false;
	free_resources(&resources);
	free(parts);
	if (signals__caught() && !ends_by_itself)
		program__die_by(signals__caught());
	return status;
}

static int measure_words(int argc, char **argv, enum measuring what)
{
	size_t count;
	struct options *parts = options__parse(argc, argv, what, &count);

	return measure_parts(parts, count, NULL);
}

int measure_command(int argc, char **argv)
{
	static const char *const names[] = {[MEASURE_SWEEP] = "sweep",
					    [MEASURE_TIMELINE] = "timeline",
					    [MEASURE_TOP] = "top",
					    [MEASURE_EXPORTER] = "exporter"};
	enum measuring what = MEASURE_SWEEP;

	while (strcmp(argv[0], names[what]))
		what++;
	argv[0] = program_invocation_name;
	return measure_words(argc, argv, what);
}

int advise(int argc, char **argv)
{
	size_t count;
	struct options *parts;

	argv[0] = program_invocation_name;
	parts = options__parse_advise(argc, argv, &count);
	return parts ? measure_parts(parts, count, argv)
		     : program__fail(STATUS_FAILED, "out of memory");
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

/* Reports a first word that is neither an option nor a command. */
static int refuse_command(const char *word)
{
	const struct command *c = commands;

	while (c->name && help__distance(word, c->name) > 2)
		c++;
	if (c->name)
		program__complain("there is no command %s: did you mean %s?", word, c->name);
	else if (is_program(word))
		program__complain("to observe a program, put -- before it: %s -- %s",
				  program_invocation_short_name, word);
	else
		program__complain("there is no command %s (--help lists them)", word);
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
		return program__fail(STATUS_USAGE, "help: give one word, a command or a topic");
	return show_help(argc == 2 && argv[1][0] != '-' ? argv[1] : NULL);
}

int main(int argc, char **argv)
{
	const struct command *c = argc > 1 ? find_command(argv[1]) : NULL;
	int status;

	program__begin();
	privilege__note_limits();
	libbpf_set_print(NULL);
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
