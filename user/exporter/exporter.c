// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/exporter/exporter.h"

#include "user/exporter/exposition.h"
#include "user/exporter/metrics.h"
#include "user/exporter/processes.h"
#include "user/exporter/server.h"
#include "user/exporter/textfile.h"
#include "user/system/log.h"
#include "user/system/signals.h"

#include "common/program.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct exporter {
	const struct host *host;
	bool cost;
	struct exposition *exposition;
	struct processes *processes; /* NULL: none are named */
	struct server *server;	     /* either this */
	int folder;		     /* or the text file's; -1: none */
	bool failed;		     /* the last writing of it */
	double interval;
	struct timespec begun;
	double due; /* seconds since then: the next writing */
	struct run_result *result;
	struct tracer *tracer; /* both while it looks */
};

static uint64_t ns_of(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_nsec;
}

static uint64_t resident_bytes(void)
{
	unsigned long size, resident = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (file && fscanf(file, "%lu %lu", &size, &resident) != 2)
		resident = 0;
	if (file)
		fclose(file);
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static struct own_cost cost_of(const struct exporter *x, const struct timespec *reading_began)
{
	struct timespec cpu;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	return (struct own_cost){.started_ns = ns_of(&x->result->started),
				 .cpu_ns = ns_of(&cpu),
				 .resident_bytes = resident_bytes(),
				 .reading_ns = (uint64_t)(elapsed_since(reading_began) * 1e9)};
}

/* Groups before totals: what is counted meanwhile is then missing in the parts, not in the whole.
 */
static int read_counts(struct exporter *x)
{
	struct window_counts *m = &x->result->counts;
	int err = tracer__read(x->tracer, m);

	if (!err && x->processes)
		err = processes__read(x->processes, x->tracer, &m->groups_rest);
	return err;
}

static int write_text(struct exporter *x, const struct own_cost *own, bool open_metrics,
		      char **text, size_t *size)
{
	FILE *out = open_memstream(text, size);

	if (!out)
		return -ENOMEM;
	exposition__begin(x->exposition, out, open_metrics);
	metrics__write(x->exposition, x->result, x->host->kernel, x->cost, x->processes, own);
	exposition__end(x->exposition);
	if (!fclose(out))
		return 0;
	free(*text);
	return -ENOMEM;
}

static int make_text(void *context, bool open_metrics, char **text, size_t *size)
{
	struct exporter *x = context;
	struct timespec begun;
	struct own_cost own;
	int err;

	clock_gettime(CLOCK_MONOTONIC, &begun);
	err = read_counts(x);
	own = cost_of(x, &begun);
	if (!err)
		err = write_text(x, &own, open_metrics, text, size);
	tracer__forget_peers(x->tracer);
	if (err)
		log_error("what the kernel counted cannot be read: %s", strerror(-err));
	return err;
}

/* A folder that cannot be written to now, its disk being full, may be later: said once. */
static void write_file(struct exporter *x)
{
	char *text;
	size_t size;
	int err = make_text(x, false, &text, &size);

	if (err)
		return;
	err = textfile__replace(x->folder, text, size);
	free(text);
	if (err && !x->failed)
		log_error("--textfile: sendpath.prom cannot be written: %s", strerror(-err));
	x->failed = err;
}

static void look(void *context, struct run_result *r, struct tracer *tracer)
{
	struct exporter *x = context;

	if (!x->result && x->server)
		log_error("metrics at http://%s/metrics", server__endpoint(x->server));
	x->result = r;
	x->tracer = tracer;
	if (x->server) {
		server__run(x->server);
	} else if (elapsed_since(&x->begun) >= x->due) {
		write_file(x);
		x->due = (floor(elapsed_since(&x->begun) / x->interval) + 1) * x->interval;
	}
}

static int ms_left(void *context, int most)
{
	const struct exporter *x = context;
	double ms;

	if (x->server)
		return server__ms_left(x->server, most);
	ms = ceil((x->due - elapsed_since(&x->begun)) * 1e3);
	return ms < 0 ? 0 : ms < most ? (int)ms : most;
}

static bool is_to_end(void *unused)
{
	(void)unused;
	return signals__caught();
}

static int open_outputs(struct exporter *x, const struct options *o)
{
	const struct exporter_options *e = &o->exporter;
	const struct allowed_names names = {e->names, e->name_count};
	char reason[600] = "out of memory";
	int err;

	x->exposition = exposition__new();
	x->processes = e->top ? processes__new(e->top, o->by_max) : NULL;
	if (!x->exposition || (e->top && !x->processes))
		err = -ENOMEM;
	else if (!e->textfile)
		err = server__open(&x->server, e->listen, &names, make_text, x, reason,
				   sizeof(reason));
	else if ((x->folder = err = textfile__open(e->textfile)) < 0)
		snprintf(reason, sizeof(reason), "--textfile %.200s: %s", e->textfile,
			 strerror(-err));
	if (err < 0)
		log_error("%s", reason);
	return err < 0 ? err : 0;
}

static void close_outputs(struct exporter *x)
{
	server__close(x->server);
	if (x->folder >= 0) {
		textfile__remove(x->folder);
		close(x->folder);
	}
	processes__free(x->processes);
	exposition__free(x->exposition);
}

static int observe(struct exporter *x, struct measurement setup)
{
	struct run_meanwhile meanwhile = {.fd = x->server ? server__fd(x->server) : -1,
					  .ms_left = ms_left,
					  .look = look,
					  .context = x};
	struct run_result r;
	int err;

	setup.meanwhile = &meanwhile;
	setup.tick = is_to_end;
	setup.last = true;
	clock_gettime(CLOCK_MONOTONIC, &x->begun);
	err = run__observe(&r, &setup);
	if (err)
		log_error("%s", r.error);
	run__free(&r);
	return err ? r.exit_status : STATUS_OK;
}

int exporter__run(const struct options *o, const struct measurement *setup, const struct host *host)
{
	struct exporter x = {
		.host = host, .cost = setup->cost, .folder = -1, .interval = o->interval};
	struct measurement observed = *setup;
	int status = STATUS_FAILED;

	signals__catch();
	signal(SIGPIPE, SIG_IGN); /* a client that has gone is none of our business */
	observed.by = o->exporter.top ? BY_PROCESS : 0;
	if (!open_outputs(&x, o))
		status = observe(&x, observed);
	close_outputs(&x);
	return status;
}
