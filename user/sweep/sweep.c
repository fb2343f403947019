// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/sweep/sweep.h"

#include "user/report/record_read.h"
#include "user/run/host.h"
#include "user/sweep/sweep_private.h"
#include "user/system/log.h"
#include "user/system/signals.h"

#include "common/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static int make_plan(struct sweep *s, const struct options *parts, size_t count)
{
	const struct options *o = &parts[0];
	size_t i;
	int err = 0;

	s->plan.repeats = o->repeat;
	s->plan.shard = o->sweep.shard;
	s->plan.shards = o->sweep.shards;
	s->plan.seed = o->sweep.order;
	if (!o->sweep.order_given &&
	    getrandom(&s->plan.seed, sizeof(s->plan.seed), 0) != sizeof(s->plan.seed))
		return -errno;
	for (i = 0; i < count && !err; i++)
		err = sweep_plan__add(&s->plan, &parts[i].load);
	return err ? err : sweep_totals__init(&s->totals, &s->plan);
}

static void take(void *context, json_object *record)
{
	struct sweep *s = context;

	sweep_totals__note(&s->totals, record);
	s->elsewhere += strcmp(record__string(record, "/host/kernel"), s->grid->host->kernel) != 0;
}

/* What was neither measured nor is to stay as it is. */
static void reopen(struct sweep *s)
{
	size_t i;

	for (i = 0; i < s->plan.count * s->plan.repeats; i++)
		if (s->totals.runs[i].outcome != SWEEP_MEASURED)
			s->totals.runs[i].outcome = SWEEP_OPEN;
}

static void say_what_is_there(const struct sweep *s)
{
	size_t runs = sweep_plan__runs(&s->plan);

	if (s->totals.foreign)
		log_error("%s has %zu records of no run of this plan: left as they are",
			  s->folder.path, s->totals.foreign);
	if (s->totals.twice)
		log_error("%s has %zu runs twice: the first of each counts", s->folder.path,
			  s->totals.twice);
	if (s->elsewhere)
		log_error("%s has %zu runs under another kernel than this, Linux %s: they stay, "
			  "and compare as far as kernels do",
			  s->folder.path, s->elsewhere, s->grid->host->kernel);
	if (s->left < runs && s->left)
		log_error("going on: %zu of %zu runs are in %s", runs - s->left, runs,
			  s->folder.path);
}

static void set_progress(struct sweep *s, size_t left)
{
	const struct load *load = &s->plan.cells[0].load;

	s->left = left;
	s->progress.runs = s->setup.target ? 0 : sweep_plan__runs(&s->plan);
	s->progress.before = s->progress.runs ? s->progress.runs - left : 0;
	s->progress.guess_s = load->warmup_s + (load->messages ? 0 : load->duration_s) + 0.5;
}

static int read_folder(struct sweep *s)
{
	int err = sweep_folder__read(&s->folder, take, s);

	if (err)
		return err;
	if (s->grid->options->sweep.retry)
		reopen(s);
	set_progress(s, sweep_totals__count(&s->totals, SWEEP_OPEN));
	say_what_is_there(s);
	return 0;
}

/* What stands in the folder in the end, whoever ran it. */
static int summarise(struct sweep *s)
{
	size_t measured = sweep_totals__count(&s->totals, SWEEP_MEASURED);
	size_t failed = sweep_totals__count(&s->totals, SWEEP_FAILED);
	size_t skipped = sweep_totals__count(&s->totals, SWEEP_SKIPPED);
	size_t runs = sweep_plan__runs(&s->plan);
	int err = sweep_totals__print(&s->totals, stdout);

	printf("%zu of %zu runs measured, %zu failed, %zu skipped; order seed %u; records in %s\n",
	       measured, runs, failed, skipped, s->plan.seed, s->folder.path);
	if (measured + failed + skipped < runs)
		printf("not done: the same command goes on from here\n");
	if (err) {
		log_error("the summary: %s", strerror(-err));
		return STATUS_FAILED;
	}
	if (failed)
		return STATUS_FAILED;
	return skipped && !measured ? STATUS_SYSTEM : STATUS_OK;
}

static int run(struct sweep *s, const struct options *parts, size_t count)
{
	int err = make_plan(s, parts, count), status;

	if (err) {
		log_error("sweep: %s", strerror(-err));
		return STATUS_FAILED;
	}
	err = sweep_folder__open(&s->folder, &s->plan, &parts[0]);
	if (err) /* another plan is another command line */
		return err == -EEXIST ? STATUS_USAGE : STATUS_FAILED;
	err = read_folder(s);
	if (err)
		return STATUS_FAILED;
	err = sweep__run_blocks(s);
	status = summarise(s);
	return err ? STATUS_FAILED : status;
}

static struct sweep sweep_of(struct grid *grid)
{
	return (struct sweep){.grid = grid, .folder = {.fd = -1, .runs = -1}, .setup = grid->setup};
}

/* What was reported or kept stays. */
static void sweep__free(struct sweep *s)
{
	sweep_folder__close(&s->folder);
	sweep_totals__free(&s->totals);
	sweep_plan__free(&s->plan);
}

int sweep__run(struct grid *grid, const struct options *parts, size_t count)
{
	struct sweep s = sweep_of(grid);
	int status;

	signals__catch();
	status = run(&s, parts, count);
	sweep__free(&s);
	return status;
}

/* An observation is one run, whatever loads there could be. */
static int run_grid(struct sweep *s)
{
	const struct options *o = s->grid->options;
	int err;

	s->plan = (struct sweep_plan){
		.repeats = o->repeat, .shard = 1, .shards = 1, .as_listed = true};
	err = sweep_plan__add(&s->plan, &o->load);
	if (!err && o->target.given)
		s->plan.count = 1;
	if (!err)
		err = sweep_totals__init(&s->totals, &s->plan);
	if (err) {
		log_error("out of memory");
		return STATUS_FAILED;
	}
	if (o->target.given && !load_options__given(&o->load, "duration"))
		s->plan.cells[0].load.duration_s = 0;
	set_progress(s, sweep_plan__runs(&s->plan));
	s->progress.grid = true;
	s->progress.quiet = s->setup.live || o->target.command;
	err = sweep__run_blocks(s);
	if (signals__caught() && s->progress.runs > 1)
		log_error("interrupted: %zu of %zu runs stand in the result", s->reported,
			  s->progress.runs);
	return err && !s->status ? STATUS_FAILED : s->status;
}

int grid__run(struct grid *grid)
{
	struct sweep s = sweep_of(grid);
	int status;
	size_t i;

	signals__catch();
	status = run_grid(&s);
	live__done(s.setup.live);
	for (i = 0; i < grid->report_count; i++)
		if (grid->reports[i].reporter->finish(grid->reports[i].state))
			status = STATUS_FAILED;
	sweep__free(&s);
	return status;
}
