// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/sweep/grid.h"

#include "user/record/record.h"
#include "user/run/measure.h"
#include "user/run/observe.h"
#include "user/system/elapsed.h"
#include "user/system/log.h"
#include "user/system/privilege.h"
#include "user/system/signals.h"

#include "loadgen/system/status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What the progress line tells. */
struct progress {
	const struct load *load; /* NULL: an observation */
	bool quiet;
	size_t run, runs;
	struct timespec begun;
	bool shown;
};

static void show_progress(struct progress *p)
{
	char name[64];
	double seconds = elapsed_since(&p->begun);

	if (p->load)
		fprintf(stderr, "\r[%zu/%zu] %s: %.1f s \033[K", p->run, p->runs,
			load__label(p->load, name, sizeof(name)), seconds);
	else
		fprintf(stderr, "\robserving: %.1f s \033[K", seconds);
	p->shown = true;
}

/* A command has the terminal to itself. */
static bool tick(void *context)
{
	struct progress *p = context;

	if (!p->quiet && isatty(STDERR_FILENO))
		show_progress(p);
	return signals__caught();
}

/* Which of several runs a line is of. */
static void label(const struct progress *p, const struct load *load, unsigned int repeat,
		  unsigned int repeats, char *text, size_t size)
{
	size_t used;

	text[0] = 0;
	if (p->runs < 2)
		return;
	used = strlen(load__label(load, text, size));
	if (repeats > 1)
		snprintf(text + used, size - used, " #%u", repeat);
}

static void clear_progress(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}

static int report_run(struct grid *grid, const struct run_result *r, const struct run_setup *setup,
		      size_t run, unsigned int repeat, json_object *privilege)
{
	struct record_context context = {
		.host = grid->host, .repeat = repeat, .privilege = privilege};
	json_object *record;
	char id[64];
	int err = 0;
	size_t i;

	record__run_id(id, sizeof(id), &r->started, run);
	context.id = id;
	record = record__build(r, setup, &context);
	for (i = 0; i < grid->report_count && !err; i++)
		err = grid->reports[i].reporter->add(grid->reports[i].state, record);
	json_object_put(record);
	return err;
}

/* One run of one cell. Returns its exit status. */
static int run_cell(struct grid *grid, struct run_setup *setup, struct progress *progress,
		    unsigned int repeat)
{
	json_object *privilege = privilege__json();
	static struct run_result r; /* too large for a stack */
	char name[64];
	int status = 0;

	progress->load = setup->target ? NULL : &setup->load;
	progress->quiet = setup->live || (setup->target && setup->target->command);
	label(progress, &setup->load, repeat, grid->options->repeat, name, sizeof(name));
	setup->label = name;
	clock_gettime(CLOCK_MONOTONIC, &progress->begun);
	setup->tick_context = progress;
	setup->last = progress->run == progress->runs;
	if ((setup->target ? observe__run : measure__run)(&r, setup) && r.error[0]) {
		clear_progress(progress);
		log_error("%s", r.error);
		status = r.exit_status;
	}
	clear_progress(progress);
	if (r.window && report_run(grid, &r, setup, progress->run, repeat, privilege))
		status = 1;
	if (!status && setup->target)
		status = r.command_status;
	run__free(&r);
	json_object_put(privilege);
	return status;
}

/* Of all models those are left out that cannot hold so many connections: once aloud. */
static bool skipped(const struct load *load, unsigned int repeat)
{
	char why[256];

	if (!load__impossible(load, why, sizeof(why)))
		return false;
	if (repeat == 1)
		log_error("skipped: %s", why);
	return true;
}

struct run_setup grid__setup(const struct grid *grid)
{
	const struct options *o = grid->options;

	return (struct run_setup){.features = grid->features,
				  .tier = o->tier,
				  .cost = o->cost,
				  .by = o->by,
				  .by_max = o->by_max,
				  .target = o->target.given ? &o->target : NULL,
				  .child = grid->child,
				  .events = grid->events,
				  .call_counters = grid->call_counters,
				  .memory = grid->memory,
				  .live = grid->live};
}

static int run_all(struct grid *grid)
{
	const struct options *o = grid->options;
	const struct load_options *l = &o->load;
	size_t cells = o->target.given ? 1 : load_options__cells(l);
	struct progress progress = {.runs = cells * o->repeat};
	struct run_setup setup = grid__setup(grid);
	unsigned int repeat;
	int status = 0, one;
	size_t cell;

	setup.tick = tick;
	for (repeat = 1; repeat <= o->repeat; repeat++) {
		for (cell = 0; cell < cells && !signals__caught(); cell++) {
			progress.run++;
			setup.load = load_options__nth(l, cell);
			if (skipped(&setup.load, repeat))
				continue;
			if (o->target.given && !load_options__given(l, "duration"))
				setup.load.duration_s = 0;
			one = run_cell(grid, &setup, &progress, repeat);
			status = one ? one : status;
			if (!o->target.given && (one == STATUS_USAGE || one == STATUS_SYSTEM))
				return one; /* the next would fail alike */
		}
	}
	return status;
}

int grid__run(struct grid *grid)
{
	int status;
	size_t i;

	signals__catch();
	status = run_all(grid);
	live__done(grid->live);
	for (i = 0; i < grid->report_count; i++)
		if (grid->reports[i].reporter->finish(grid->reports[i].state))
			status = 1;
	return status;
}
