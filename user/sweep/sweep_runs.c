// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The runs: of a sweep each ends as a record in the folder, or not at all; of a grid what
 * was measured is reported, be it interrupted or failed.
 */
#include "user/record/raw.h"
#include "user/report/record_read.h"
#include "user/run/run.h"
#include "user/sweep/sweep_private.h"
#include "user/system/deriver.h"
#include "user/system/log.h"
#include "user/system/noise.h"
#include "user/system/privilege.h"
#include "user/system/signals.h"

#include "common/program.h"
#include "loadgen/send/send_ops.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool tick(void *context)
{
	sweep_progress__tick(context);
	return signals__caught();
}

/* One that fails does not keep it from the others. */
static int report(struct sweep *s, json_object *record)
{
	size_t i;
	int failed, err = 0;

	s->reported++;
	for (i = 0; i < s->grid->report_count; i++) {
		failed = s->grid->reports[i].reporter->add(s->grid->reports[i].state, record);
		err = err ? err : failed;
	}
	return err;
}

/* Adds it to what there is; NULL: why there is none was said. 0 or -errno, said. */
static int put(struct sweep *s, json_object *record)
{
	int err = -EIO;

	if (record)
		err = s->progress.grid ? report(s, record) : sweep_folder__add(&s->folder, record);
	if (!err && !s->progress.grid)
		sweep_totals__note(&s->totals, record);
	json_object_put(record);
	return err;
}

/* Makes the id of the run, too. */
static struct record_context context_of(const struct sweep *s, const struct timespec *started,
					unsigned int block, char id[64])
{
	raw__run_id(id, 64, started, s->number);
	return (struct record_context){.host = s->grid->host,
				       .id = id,
				       .repeat = block,
				       .ordered = !s->plan.as_listed,
				       .seed = s->plan.seed};
}

static int put_failure(struct sweep *s, unsigned int block, const char *outcome, const char *error)
{
	struct record_context context;
	struct timespec now;
	char id[64];

	clock_gettime(CLOCK_REALTIME, &now);
	context = context_of(s, &now, block, id);
	return put(s, deriver__record(s->grid->deriver,
				      raw__failure(&now, &s->setup, &context, outcome, error)));
}

static int put_run(struct sweep *s, const struct run_result *r, unsigned int block,
		   json_object *privilege)
{
	char id[64];
	struct record_context context = context_of(s, &r->started, block, id);

	context.privilege = privilege;
	return put(s, deriver__record(s->grid->deriver, raw__line(r, &s->setup, &context)));
}

/* What this system cannot do is said once, however many repeats there are. */
static int skip(struct sweep *s, size_t cell, unsigned int block, const char *why)
{
	unsigned int other;
	bool said = false;

	for (other = 1; other <= s->plan.repeats; other++)
		said |= sweep_totals__run(&s->totals, cell, other)->outcome == SWEEP_SKIPPED;
	if (!said)
		log_error("skipped: %s", why);
	sweep_progress__end(&s->progress, false, "skipped");
	if (!s->progress.grid)
		return put_failure(s, block, "skipped", why);
	sweep_totals__run(&s->totals, cell, block)->outcome = SWEEP_SKIPPED;
	return 0;
}

static int fail(struct sweep *s, unsigned int block, const char *why)
{
	log_error("%s: %s", s->progress.label, why);
	sweep_progress__end(&s->progress, false, "failed");
	return put_failure(s, block, "failed", why);
}

static const char *done_word(const struct run_result *r, char word[48])
{
	double number;

	if (record__number(r->app, "/serving/answers_per_s", &number))
		snprintf(word, 48, "%.0f answers/s", number);
	else if (record__number(r->app, "/throughput_bps", &number))
		snprintf(word, 48, "%.2f Gbit/s", number / 1e9);
	else
		snprintf(word, 48, "done");
	return word;
}

/*
 * Its status is the grid's. What this system cannot do the next would not either, and what
 * cannot be written is made in vain: -ECANCELED.
 */
static int conclude_grid(struct sweep *s, const struct run_result *r, unsigned int block,
			 json_object *privilege)
{
	int status = r->error[0] ? r->exit_status : 0, err;

	sweep_progress__clear(&s->progress);
	if (r->error[0])
		log_error("%s", r->error);
	sweep_progress__end(&s->progress, !r->error[0], "");
	err = r->window ? put_run(s, r, block, privilege) : 0;
	if (err)
		status = STATUS_FAILED;
	if (!status && s->setup.target)
		status = r->command_status;
	s->status = status ? status : s->status;
	if (!s->setup.target && (status == STATUS_USAGE || status == STATUS_SYSTEM))
		err = -ECANCELED;
	return err;
}

/* What came of a run goes into the folder; one that was interrupted is made again. */
static int conclude(struct sweep *s, const struct run_result *r, size_t cell, unsigned int block,
		    json_object *privilege)
{
	char word[48];

	sweep_progress__clear(&s->progress);
	if (r->interrupted)
		return 0;
	if (r->error[0] && r->exit_status == STATUS_SYSTEM)
		return skip(s, cell, block, r->error);
	if (r->error[0])
		return fail(s, block, r->error);
	sweep_progress__end(&s->progress, true, done_word(r, word));
	return put_run(s, r, block, privilege);
}

static int measure(struct sweep *s, size_t cell, unsigned int block)
{
	static struct run_result r; /* too large for a stack */
	json_object *privilege = privilege__json();
	int err;

	s->setup.tick = tick;
	s->setup.tick_context = &s->progress;
	s->setup.last = s->left == 1;
	s->setup.session = s->setup.target ? NULL : &s->session;
	if ((s->setup.target ? run__observe : run__measure)(&r, &s->setup) && !r.error[0])
		snprintf(r.error, sizeof(r.error), "the run failed without a word");
	err = s->progress.grid ? conclude_grid(s, &r, block, privilege)
			       : conclude(s, &r, cell, block, privilege);
	run__free(&r);
	json_object_put(privilege);
	return err;
}

/* Why this system cannot run it; NULL: nothing is known against it. */
static const char *obstacle(const struct sweep *s, const struct load *load, char *why, size_t room)
{
	if (load__impossible(load, why, room))
		return why;
	if (!s->progress.grid && load->variant && variants__probe(load->variant, load, why, room))
		return why;
	return NULL;
}

/* Which of several runs it is; of a grid the number only where there are repeats. */
static void label(const struct sweep *s, unsigned int block, char text[96])
{
	size_t used = strlen(load__label(&s->setup.load, text, 64));

	if (!s->progress.grid || s->plan.repeats > 1)
		snprintf(text + used, 96 - used, " #%u", block);
}

/* false: others do not leave the CPUs alone in time, said. */
static bool is_quiet(struct sweep *s, unsigned int block, int *err)
{
	double most = s->grid->options->wait_quiet_s;
	double share = most > 0 ? noise__await_quiet(most, tick, &s->progress) : 0;
	char why[128];

	if (share < NOISE_QUIET || signals__caught())
		return true;
	snprintf(why, sizeof(why), "--wait-quiet: after %g s others still use %.0f %% of the CPUs",
		 most, 100 * share);
	sweep_progress__clear(&s->progress);
	if (!s->progress.grid) {
		*err = fail(s, block, why);
		return false;
	}
	log_error("%s", why);
	s->status = STATUS_FAILED;
	*err = -ECANCELED;
	return false;
}

static int run_cell(struct sweep *s, size_t cell, unsigned int block)
{
	char name[96], why[256];
	int err = 0;

	s->number++;
	s->setup.load = s->plan.cells[cell].load;
	label(s, block, name);
	/* Of one run lines need not say which. */
	s->setup.label = s->progress.grid && s->progress.runs < 2 ? "" : name;
	sweep_progress__begin(&s->progress, s->setup.target ? "observing" : name);
	if (obstacle(s, &s->setup.load, why, sizeof(why))) {
		sweep_progress__clear(&s->progress);
		err = skip(s, cell, block, why);
	} else if (is_quiet(s, block, &err) && !signals__caught()) {
		err = measure(s, cell, block);
	}
	s->left--;
	return err;
}

static int run_block(struct sweep *s, unsigned int block, size_t *order)
{
	size_t i;
	int err = 0;

	sweep_plan__order(&s->plan, block, order);
	for (i = 0; i < s->plan.count && !err && !signals__caught(); i++)
		if (sweep_plan__mine(&s->plan, order[i]) &&
		    sweep_totals__run(&s->totals, order[i], block)->outcome == SWEEP_OPEN)
			err = run_cell(s, order[i], block);
	return err;
}

int sweep__run_blocks(struct sweep *s)
{
	size_t *order = calloc(s->plan.count, sizeof(*order));
	unsigned int block;
	int err = order ? 0 : -ENOMEM;

	for (block = 1; block <= s->plan.repeats && !err && !signals__caught(); block++)
		err = run_block(s, block, order);
	session__free(&s->session);
	sweep_progress__clear(&s->progress);
	free(order);
	return err;
}
