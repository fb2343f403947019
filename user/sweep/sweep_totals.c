// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/sweep/sweep_private.h"

#include "user/record/record_parts.h"
#include "user/report/record_read.h"
#include "user/report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int sweep_totals__init(struct sweep_totals *t, const struct sweep_plan *plan)
{
	*t = (struct sweep_totals){.plan = plan};
	t->runs = calloc(plan->count * plan->repeats, sizeof(*t->runs));
	return t->runs ? 0 : -ENOMEM;
}

void sweep_totals__free(struct sweep_totals *t)
{
	size_t i;

	for (i = 0; t->runs && i < t->plan->count * t->plan->repeats; i++)
		free(t->runs[i].error);
	free(t->runs);
	cells__free(&t->cells);
	*t = (struct sweep_totals){};
}

struct sweep_run *sweep_totals__run(const struct sweep_totals *t, size_t cell, unsigned int block)
{
	return &t->runs[cell * t->plan->repeats + block - 1];
}

size_t sweep_totals__count(const struct sweep_totals *t, enum sweep_outcome outcome)
{
	size_t cell, count = 0;
	unsigned int block;

	for (cell = 0; cell < t->plan->count; cell++)
		for (block = 1; block <= t->plan->repeats; block++)
			count += sweep_plan__mine(t->plan, cell) &&
				 sweep_totals__run(t, cell, block)->outcome == outcome;
	return count;
}

/* A long sweep would fill the memory with histograms that its summary does not show. */
static int keep(struct sweep_totals *t, json_object *record)
{
	static const char *const needed[] = {"run",	   "tool",  "host",	"load",
					     "app",	   "calls", "lost",	"memory",
					     "unmeasured", "tcp",   "zerocopy", "serving"};
	json_object *slim = json_object_new_object(), *part, *app;
	size_t i;
	int err;

	for (i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (json_object_object_get_ex(record, needed[i], &part))
			json_object_object_add(slim, needed[i], json_object_get(part));
	part = json_object_new_object();
	json_object_object_add(part, "tier", json_object_get(record__at(record, "/plan/tier")));
	json_object_object_add(slim, "plan", part);
	if (strcmp(record__name(record, "/load/workload"), "procinfo"))
		json_object_object_del(slim, "tcp");
	app = record__at(slim, "/app");
	if (json_object_is_type(app, json_type_object) &&
	    strcmp(record__name(record, "/load/workload"), "request"))
		json_object_object_del(app, "message_latency_ns");
	err = cells__add(&t->cells, slim);
	json_object_put(slim);
	return err;
}

static void note_failure(struct sweep_totals *t, struct sweep_run *run, json_object *record)
{
	run->outcome = strcmp(record__string(record, "/outcome"), "skipped") ? SWEEP_FAILED
									     : SWEEP_SKIPPED;
	free(run->error);
	run->error = strdup(record__string(record, "/error"));
	t->out_of_memory |= !run->error;
}

void sweep_totals__note(struct sweep_totals *t, json_object *record)
{
	long cell = sweep_plan__find(t->plan, record__name(record, "/run/cell"));
	const char *schema = record__name(record, "/schema");
	bool measured = !strcmp(schema, RECORD_SCHEMA);
	struct sweep_run *run;
	uint64_t block = record__count(record, "/run/repeat");

	if (cell < 0 || !block || block > t->plan->repeats ||
	    (!measured && strcmp(schema, "sendpath.failure/1"))) {
		t->foreign++;
		return;
	}
	run = sweep_totals__run(t, (size_t)cell, (unsigned int)block);
	if (run->outcome == SWEEP_MEASURED) {
		t->twice++;
	} else if (measured) {
		run->outcome = SWEEP_MEASURED;
		t->out_of_memory |= keep(t, record) != 0;
	} else {
		note_failure(t, run, record);
	}
}

/* As the plan has them, not as chance did. */
static void sort(struct sweep_totals *t)
{
	struct cell swapped, *cells = t->cells.cells;
	size_t i, j, sorted = 0;

	for (i = 0; i < t->plan->count; i++)
		for (j = sorted; j < t->cells.count; j++) {
			if (strcmp(record__name(cells[j].records[0], "/run/cell"),
				   t->plan->cells[i].name))
				continue;
			swapped = cells[sorted];
			cells[sorted++] = cells[j];
			cells[j] = swapped;
			break;
		}
}

/* One line for all repeats of a cell that came to the same. */
static void print_failures(const struct sweep_totals *t, size_t cell, enum sweep_outcome outcome,
			   FILE *out)
{
	const struct sweep_run *run, *first = NULL;
	unsigned int block, count = 0;

	for (block = 1; block <= t->plan->repeats; block++) {
		run = sweep_totals__run(t, cell, block);
		if (run->outcome != outcome)
			continue;
		first = first ? first : run;
		count++;
	}
	if (count)
		fprintf(out, "%s: %s, %u of %u runs: %s\n",
			outcome == SWEEP_FAILED ? "failed" : "skipped", t->plan->cells[cell].name,
			count, t->plan->repeats, first->error ? first->error : "");
}

int sweep_totals__print(struct sweep_totals *t, FILE *out)
{
	int err = t->out_of_memory ? -ENOMEM : 0;
	size_t cell;

	sort(t);
	if (t->cells.count && !err)
		err = report_text__print(&t->cells, TEXT_SUMMARY, out);
	for (cell = 0; cell < t->plan->count; cell++) {
		print_failures(t, cell, SWEEP_FAILED, out);
		print_failures(t, cell, SWEEP_SKIPPED, out);
	}
	return err;
}
