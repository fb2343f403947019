// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/engine.h"

#include "user/system/files.h"
#include "user/system/signals.h"

#include "common/json.h"
#include "loadgen/send/send_ops.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define BEGIN_SCHEMA	   "sendpath.begin/1"
#define SECONDS_MAX	   86400
#define INTERRUPTED_SCHEMA "sendpath.interrupted/1"

struct engine_cell {
	const struct options *part;
	struct load load; /* for an observation, only its duration */
	size_t group;	  /* equal if only the variant or server model differs */
};

/*
 * Returns whether the run must end: because of a signal, or because the front, the only reader, is
 * gone or has sent a request. During a run the front requests only that it ends.
 */
static bool interrupted(void *engine)
{
	const struct engine *e = engine;
	bool gone = e->front && front__is_gone(e->front);

	if (gone)
		signals__pass_on(SIGTERM);
	return gone || signals__caught() || (e->front && front__has_request(e->front));
}

/* Adds the configurations of a part. An observation has one, whatever its load options are. */
static int add_cells(struct engine *e, const struct options *part, size_t group)
{
	const struct load_options *grid = &part->load;
	size_t i, count = part->target.given ? 1 : load_options__cells(grid);
	struct engine_cell *cell;

	e->cells = reallocarray(e->cells, e->cell_count + count, sizeof(*e->cells));
	if (!e->cells)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		cell = &e->cells[e->cell_count++];
		*cell = (struct engine_cell){part, load_options__nth(grid, i),
					     group + i / load_options__compared(grid)};
		if (part->target.given && !load_options__given(grid, "duration"))
			cell->load.duration_s = part->count * part->interval; /* 0: no end */
	}
	return 0;
}

static int make_cells(struct engine *e)
{
	size_t i, group = 0;
	int err = 0;

	for (i = 0; i < e->part_count && !err; i++) {
		err = add_cells(e, &e->parts[i], group);
		group = err ? 0 : e->cells[e->cell_count - 1].group + 1;
	}
	return err;
}

/* Returns the load as the load generator's arguments, without the control socket. */
static json_object *arguments_of(const struct load *load)
{
	json_object *list = json_object_new_array();
	struct load_arguments arguments;
	size_t i;

	load_arguments__fill(&arguments, "", load, 0);
	for (i = 1; i + 1 < arguments.count; i++)
		json_object_array_add(list, json_object_new_string(arguments.values[i]));
	load_arguments__free(&arguments);
	return list;
}

static json_object *cell_json(const struct engine_cell *cell)
{
	json_object *o = json_object_new_object();
	char text[256];

	raw__cell_name(&cell->load, text, sizeof(text));
	json__add_string(o, "cell", text);
	json__add_count(o, "group", cell->group);
	json__add_string(o, "label",
			 cell->part->target.given ? "observing"
						  : load__label(&cell->load, text, sizeof(text)));
	json__add(o, "seconds",
		  json_object_new_double(cell->load.warmup_s +
					 (cell->load.messages ? 0 : cell->load.duration_s)));
	json__add(o, "load", arguments_of(&cell->load));
	return o;
}

static json_object *begin_json(const struct engine *e)
{
	json_object *o = json_object_new_object(), *cells = json_object_new_array();
	const struct options *parts = e->parts;
	size_t i;

	json__add_string(o, "schema", BEGIN_SCHEMA);
	json__add_string(o, "version", SENDPATH_VERSION);
	json__add(o, "command", raw__command());
	json__add_string(o, "host", e->host->names.nodename);
	json__add_string(o, "kernel", e->host->names.release);
	json__add_string(o, "untraced", e->untraced);
	json__add_truth(o, "observes", parts->target.given);
	/* The command has standard output, so text for people goes to standard error. */
	json__add_truth(o, "command_runs", e->child != NULL);
	json__add_truth(o, "interval", parts->interval > 0);
	json__add_truth(o, "sweep", parts->what == MEASURE_SWEEP);
	json__add_truth(o, "top", parts->what == MEASURE_TOP);
	json__add_truth(o, "decides", parts->decides);
	json__add(o, "options", options__json(parts));
	for (i = 0; i < e->cell_count; i++)
		json_object_array_add(cells, cell_json(&e->cells[i]));
	json__add(o, "cells", cells);
	return o;
}

/* Sends the line to the front, or prints it if there is none. Frees the line. */
static int put_line(struct engine *e, char *line)
{
	int err = line ? 0 : -ENOMEM;

	if (e->front)
		return front__send(e->front, line);
	if (line && (fputs(line, stdout) < 0 || fflush(stdout)))
		err = -EIO;
	free(line);
	return err;
}

/* Returns why this system cannot make the run; NULL: no such reason is known. */
static const char *obstacle(const struct engine *e, const struct load *load, char *why, size_t room)
{
	if (load__impossible(load, why, room))
		return why;
	if (e->parts->what == MEASURE_SWEEP && load->variant &&
	    variants__probe(load->variant, why, room))
		return why;
	return NULL;
}

static int put_failure(struct engine *e, const struct run_request *q, const char *outcome,
		       const char *error)
{
	const struct record_context context = {e->host, q, e->runs};
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return put_line(e, raw__failure(&now, &e->setup, &context, outcome, error));
}

static int make_run(struct engine *e, const struct run_request *q)
{
	static struct run_result r; /* too large for a stack */
	const struct record_context context = {e->host, q, e->runs};
	int err, status;

	e->setup.tick = interrupted;
	e->setup.tick_context = e;
	e->setup.last = q->last;
	e->setup.session = e->setup.tracing.target ? NULL : &e->session;
	e->setup.child =
		e->setup.tracing.target && e->setup.tracing.target->command ? e->child : NULL;
	(e->setup.tracing.target ? run__observe : run__measure)(&r, &e->setup);
	e->signal_reported |= r.interrupted;
	err = put_line(e, raw__line(&r, &e->setup, &context));
	if (!e->front && r.failure.status)
		program__complain("%s", r.failure.text);
	status = r.failure.status ? r.failure.status : r.command_status;
	if (!e->front && status) /* with a front, the front decides the status */
		e->status = status;
	run__free(&r);
	return err;
}

static void set_up(struct engine *e, const struct run_request *q)
{
	const struct options *part = e->cells[q->cell].part;

	e->setup.load = e->cells[q->cell].load;
	if (q->seconds > 0 && !e->setup.load.messages)
		e->setup.load.duration_s = q->seconds;
	e->setup.tracing.target = part->target.given ? &part->target : NULL;
	e->setup.mechanism = e->untraced ? MECHANISM_OFF : part->mechanism;
	e->setup.tracing.by = part->by;
}

static int execute_run(struct engine *e, const struct run_request *q)
{
	double share;
	char why[256];

	e->runs++;
	set_up(e, q);
	share = e->parts->wait_quiet_s > 0
			? noise__await_quiet(e->parts->wait_quiet_s, interrupted, e)
			: 0;
	e->signal_reported |= signals__caught() != 0;
	if (e->signal_reported)
		return put_line(e, strdup("{\"schema\":\"" INTERRUPTED_SCHEMA "\"}\n"));
	if (obstacle(e, &e->setup.load, why, sizeof(why)))
		return put_failure(e, q, "skipped", why);
	if (share < NOISE_QUIET)
		return make_run(e, q);
	snprintf(why, sizeof(why),
		 "--wait-quiet: after %g s other programs still use %.0f %% of the CPUs",
		 e->parts->wait_quiet_s, 100 * share);
	return put_failure(e, q, "failed", why);
}

static bool read_number(json_object *o, const char *key, int64_t most, int64_t *number)
{
	json_object *value;

	if (!json_object_object_get_ex(o, key, &value) ||
	    !json_object_is_type(value, json_type_int))
		return false;
	*number = json_object_get_int64(value);
	return *number >= 0 && *number <= most;
}

static double read_seconds(json_object *o)
{
	json_object *value;
	double seconds = 0;

	if (json_object_object_get_ex(o, "seconds", &value))
		seconds = json_object_get_double(value);
	return seconds > 0 && seconds <= SECONDS_MAX ? seconds : 0;
}

bool run_request__read(struct run_request *q, json_object *o, size_t cells)
{
	int64_t cell, repeat, seed = 0;
	json_object *value;

	*q = (struct run_request){};
	if (!read_number(o, "run", (int64_t)cells - 1, &cell) ||
	    !read_number(o, "repeat", REPEAT_MAX, &repeat) || !repeat)
		return false;
	q->ordered = read_number(o, "seed", UINT32_MAX, &seed);
	q->cell = (size_t)cell;
	q->repeat = (unsigned int)repeat;
	q->seed = (uint32_t)seed;
	q->seconds = read_seconds(o);
	q->last = json_object_object_get_ex(o, "last", &value) && json_object_get_boolean(value);
	return true;
}

/* Executes one request. Returns 1 if it was the last, otherwise 0 or -errno. */
static int execute_request(struct engine *e, json_object *o)
{
	struct run_request q;

	if (json_object_object_get_ex(o, "end", NULL))
		return 1;
	if (json_object_object_get_ex(o, "stop", NULL)) /* the run is over */
		return 0;
	return run_request__read(&q, o, e->cell_count) ? execute_run(e, &q) : -EBADMSG;
}

bool engine__parse_advise(struct engine *e)
{
	json_object *o = json_object_new_object(), *words = json_object_new_array();
	char **word;
	int err;

	for (word = e->advise + 1; *word; word++)
		json_object_array_add(words, json_object_new_string(*word));
	json__add_string(o, "schema", "sendpath.advise-words/1");
	json__add(o, "words", words);
	if (put_line(e, json__line(o)))
		return false;
	o = front__receive(e->front, &err);
	json_object_put(o);
	return o != NULL;
}

/* Attaches the hooks of a grid's first configuration ahead. A sweep has a random order. */
static void attach_ahead(struct engine *e)
{
	const struct run_request first = {};

	set_up(e, &first);
	e->setup.session = &e->session;
	if (!e->setup.tracing.target && !e->advise && e->parts->what != MEASURE_SWEEP)
		run__attach_ahead(&e->setup);
}

static int serve(struct engine *e)
{
	int err = put_line(e, json__line(begin_json(e)));
	json_object *o;

	if (!err)
		attach_ahead(e);
	while (!err) {
		o = front__receive(e->front, &err);
		if (!err)
			err = execute_request(e, o);
		json_object_put(o);
	}
	return err;
}

/* Makes all runs, in the order of the command line. */
static int run_all(struct engine *e)
{
	struct run_request q = {};
	int err = 0;

	for (q.repeat = 1; q.repeat <= e->parts->repeat; q.repeat++)
		for (q.cell = 0; q.cell < e->cell_count && !err && !signals__caught(); q.cell++) {
			q.last = q.repeat == e->parts->repeat && q.cell + 1 == e->cell_count;
			err = execute_run(e, &q);
		}
	return err;
}

/* Awaits the report. Returns the exit status. */
static int end_front(struct engine *e, int err)
{
	int status = front__end(e->front, e->signal_reported);

	if (err == -EBADMSG) {
		program__complain(
			"the front requested a run that the command line does not contain");
		return STATUS_USAGE;
	}
	/* The front reports its own failures. */
	if (!signals__caught() && (status < 0 || (err < 0 && !status)))
		program__complain("no report: the front (" SYSTEM_PYTHON ") %s",
				  status < 0 || err == -EPIPE ? "ended early" : strerror(-err));
	return status < 0 || (err < 0 && !status) ? STATUS_FAILED : status;
}

int engine__make_runs(struct engine *e)
{
	int err = make_cells(e);

	signals__catch();
	if (!err)
		err = e->front ? serve(e) : run_all(e);
	session__free(&e->session);
	free(e->cells);
	if (e->front)
		return end_front(e, err);
	if (err && err != -EIO) /* a failed standard output is reported at the end of the program */
		program__complain("no raw line: %s", strerror(-err));
	return err ? STATUS_FAILED : e->status;
}
