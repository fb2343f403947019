// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Refuses combinations of options that contradict each other, though each is valid. */
#include "user/options/options.h"

#include "common/program.h"
#include "common/units.h"
#include "loadgen/system/listener.h"

#include <string.h>

/* Returns an option that needs attached programs, or NULL. */
static const char *needs_hooks(const struct options *o)
{
	return o->cost			     ? "--cost"
	       : o->by			     ? "--by"
	       : o->interval > 0	     ? "--interval"
	       : o->stages		     ? "--stages"
	       : o->what == MEASURE_TIMELINE ? "timeline"
	       : o->sample		     ? "--sample"
	       : o->packets		     ? "--packets"
	       : o->profile		     ? "--profile"
	       : o->call_counters	     ? "--call-counters"
	       : o->fail_on		     ? "--fail-on"
					     : NULL;
}

/* Returns an option or command that cannot be combined with --raw, or NULL. */
static const char *not_of_raw(const struct options *o)
{
	return o->what == MEASURE_SWEEP	     ? "sweep"
	       : o->what == MEASURE_TOP	     ? "top"
	       : o->what == MEASURE_EXPORTER ? "exporter"
	       : o->json		     ? "--json"
	       : o->interval > 0	     ? "--interval"
					     : NULL;
}

/* Returns the option that sets the duration of windows instead of --total, or NULL. */
static const char *not_of_total(const struct options *o)
{
	return o->target.given				   ? "a program to observe"
	       : load_options__given(&o->load, "duration") ? "--duration"
	       : o->load.load.messages			   ? "--messages"
							   : NULL;
}

/* Returns an option that cannot be combined with exporter or top, or NULL. */
static const char *not_of_live(const struct options *o)
{
	return o->json					   ? "--json"
	       : o->by & ~(BY_PROCESS | BY_CGROUP)	   ? "--by device and port"
	       : o->events				   ? "--events"
	       : o->call_counters			   ? "--call-counters"
	       : o->details				   ? "--details"
	       : o->profile				   ? "--profile"
	       : o->wait_quiet_s > 0			   ? "--wait-quiet"
	       : load_options__given(&o->load, "duration") ? "--duration"
	       : o->target.command			   ? "--"
							   : NULL;
}

static bool is_sort(const char *name)
{
	static const char *const sorts[] = {SORT_ROWS};
	size_t i = 0;

	while (i < sizeof(sorts) / sizeof(sorts[0]) && strcmp(sorts[i], name))
		i++;
	return i < sizeof(sorts) / sizeof(sorts[0]);
}

static bool is_trace(const char *name)
{
	const char *end = strrchr(name, '.');

	return end && (!strcmp(end, ".json") || !strcmp(end, ".pftrace"));
}

static bool is_endpoint(const char *text)
{
	char host[256], port[8];

	return !units__endpoint(text, host, sizeof(host), port);
}

/* Returns whether the address is in numbers. Its interface (fe80::1%eth0) may not exist yet. */
static bool is_numeric(const char *text)
{
	struct listener at;
	char host[256], port[8];

	if (units__endpoint(text, host, sizeof(host), port))
		return false;
	host[strcspn(host, "%")] = '\0';
	return !listener__resolve(&at, host, port);
}

error_t options__check(const struct options *o, struct argp_state *state)
{
	const struct exporter_options *e = &o->exporter;
	bool sweep = o->what == MEASURE_SWEEP, exporter = o->what == MEASURE_EXPORTER;
	bool timeline = o->what == MEASURE_TIMELINE, top = o->what == MEASURE_TOP;
	bool observes = o->target.given;
	/* Checked in this order; words may have one %s for the value. */
	const struct {
		bool contradict;
		const char *words, *value;
	} rows[] = {
		{sweep && !o->out,
		 .words = "--out is missing: name a folder for the records of the sweep"},
		{sweep && o->out && !o->out[0], .words = "--out: give the name of a folder"},
		{sweep && observes, .words = "sweep runs loads: leave out the program to observe"},
		{sweep && o->json, "--json %s: a sweep writes its records to --out", o->json},
		{sweep && o->interval > 0,
		 .words = "--interval: a sweep shows its own progress, leave it out"},
		{timeline && o->raw && o->out,
		 .words = "--raw with --out: it prints raw lines alone; leave one out"},
		{timeline && o->out && !is_trace(o->out),
		 "--out %s: give a name that ends in .pftrace or .json", o->out},
		{e->listen && !is_endpoint(e->listen),
		 "--listen %s: give ADDRESS:PORT, or [ADDRESS]:PORT for IPv6", e->listen},
		{e->listen && !is_numeric(e->listen),
		 "--listen %s: give the address in numbers, such as 127.0.0.1", e->listen},
		{e->textfile && !e->textfile[0], .words = "--textfile: give the name of a folder"},
		{e->textfile && (e->listen || e->name_count),
		 "%s and --textfile: leave one out: with the file nothing listens",
		 e->listen ? "--listen" : "--allow-host"},
		{exporter && not_of_live(o),
		 "%s: does not apply to exporter, which observes until a signal ends it",
		 not_of_live(o)},
		{exporter && o->interval > 0 && !e->textfile,
		 .words = "--interval without --textfile: does not apply to exporter, which "
			  "observes until a signal ends it"},
		{top && not_of_live(o),
		 "%s: does not apply to top, which shows a table until q, a "
		 "signal or --count ends it",
		 not_of_live(o)},
		{o->sort && !is_sort(o->sort), "--sort %s: unknown; there are " SORT_NAMES,
		 o->sort},
		{observes && (o->repeat > 1 || o->load.load_given),
		 .words = "--variant or another option of a load with a program to observe: only "
			  "--duration applies to both; leave the others out"},
		{o->total_s > 0 && not_of_total(o), "--total with %s: give one of them",
		 not_of_total(o)},
		{observes && o->mechanism == MECHANISM_OFF,
		 .words = "--mechanism none with a program to observe: nothing would be measured"},
		{observes && o->memory,
		 .words = "--memory with a program to observe: it needs a load; leave one out"},
		{o->raw && not_of_raw(o), "--raw with %s: it prints only raw lines; leave one out",
		 not_of_raw(o)},
		{o->folded && (!o->profile || o->raw || sweep),
		 "--folded %s: it needs --profile, without --raw and sweep", o->folded},
		{o->fail_on && (o->raw || sweep || exporter || top),
		 "--fail-on %s: leave it out with --raw, sweep, top and exporter", o->fail_on},
		{o->mechanism == MECHANISM_OFF && needs_hooks(o),
		 "%s with --mechanism none: nothing is attached; leave one out", needs_hooks(o)},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].contradict)
			return program__refuse(state, rows[i].words, rows[i].value);
	return 0;
}
