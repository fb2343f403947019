// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * options -> features -> plan -> attach -> run -> collect -> record -> reports.
 * This file holds the order of things; each step is a file of its own.
 */
#include "crosscheck.h"
#include "doctor.h"
#include "features.h"
#include "grid.h"
#include "host.h"
#include "log.h"
#include "options.h"
#include "privilege.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters.h"

#include "loadgen/send_ops.h"

enum { STATUS_OK, STATUS_FAILED, STATUS_USAGE, STATUS_CANNOT };

/* So that a shell sees why we ended, as it would of any program. */
static void die_by(int sig)
{
	fflush(NULL);
	signal(sig, SIG_DFL);
	raise(sig);
}

static bool asks_for_zerocopy(const struct load_options *load)
{
	size_t i;

	for (i = 0; i < load->variant_count; i++)
		if (variants__find(load->variants[i])->flags & SEND_ZEROCOPY)
			return true;
	return false;
}

static int prepare(struct grid *grid, struct features **features, struct host *host,
		   struct counter_events **events)
{
	const struct options *o = grid->options;
	char reason[600] = "";

	if (o->events && counter_events__parse(events, o->events, reason, sizeof(reason))) {
		log_error("--events %s (showevtinfo of libpfm4 lists the names)", reason);
		return STATUS_USAGE;
	}
	if (!privilege__sufficient()) {
		log_error("loading BPF programs needs CAP_BPF and CAP_PERFMON: run with sudo");
		return STATUS_CANNOT;
	}
	/* kallsyms shows addresses to the privileged only: before giving that up. */
	if (o->tier != MECHANISM_OFF &&
	    features__probe(features, asks_for_zerocopy(&o->load), reason, sizeof(reason))) {
		log_error("%s", reason);
		return STATUS_CANNOT;
	}
	if (privilege__reduce(o->cost, reason, sizeof(reason))) {
		log_error("%s", reason);
		return STATUS_FAILED;
	}
	host__read(host);
	grid->features = *features;
	grid->host = host;
	grid->events = *events;
	return STATUS_OK;
}

/* With records on standard output the text would be in the way. */
static int open_reports(struct grid *grid)
{
	const char *json = grid->options->json;

	if (json && report_json__open(&grid->reports[grid->report_count++], json))
		return STATUS_FAILED;
	if ((!json || strcmp(json, "-")) &&
	    report_text__open(&grid->reports[grid->report_count++])) {
		log_error("out of memory");
		return STATUS_FAILED;
	}
	return STATUS_OK;
}

static int measure(int argc, char **argv)
{
	struct counter_events *events = NULL;
	struct features *features = NULL;
	struct options options;
	struct grid grid = {.options = &options};
	struct host host;
	int status;

	options__parse(&options, argc, argv);
	if (options.verbose)
		log_verbose();
	status = prepare(&grid, &features, &host, &events);
	if (!status)
		status = open_reports(&grid);
	if (!status)
		status = grid__run(&grid);
	counter_events__free(events);
	features__free(features);
	if (grid__signal())
		die_by(grid__signal());
	return status;
}

int main(int argc, char **argv)
{
	log_init();
	if (argc > 1 && !strcmp(argv[1], "doctor"))
		return doctor(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "crosscheck"))
		return crosscheck(argc - 1, argv + 1);
	return measure(argc, argv);
}
