/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The serving process stands for the sender, whose sends are measured; this one,
 * which conducts, is the client and stands for the receiver.
 */
#include <errno.h>
#include <sys/resource.h>

#include "loadgen/load.h"
#include "loadgen/run/run.h"
#include "loadgen/serving/server.h"

#define DESCRIPTORS 64 /* beside the connections */

/* Each of both ends holds a descriptor a connection. */
static int raise_limit(struct run *run, struct failure *f)
{
	rlim_t needed = run->load->connections + DESCRIPTORS;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return failure__set(f, STATUS_FAILED, -errno,
				    "cannot read the limit of open "
				    "files: %m");
	if (limit.rlim_cur >= needed)
		return 0;
	limit.rlim_cur = limit.rlim_max;
	if (limit.rlim_max < needed || setrlimit(RLIMIT_NOFILE, &limit))
		return failure__set(f, STATUS_FAILED, -EMFILE,
				    "--connections %u needs %llu open files, the limit is %llu: "
				    "raise it (ulimit -Hn) or give fewer",
				    run->load->connections, (unsigned long long)needed,
				    (unsigned long long)limit.rlim_max);
	return 0;
}

static int fork_server(struct run *run, struct failure *f)
{
	int err = listener__open(&run->listener, run->load, f);

	return err ? err : serving__start(&run->other, &run->listener, run->load, &run->cpus, f);
}

static int connect_client(struct run *run, struct failure *f)
{
	struct client *c;
	int err = serving__begin(&run->other, f);

	if (!err)
		err = client__create(&c, run->load, &run->listener, run->other.shared, f);
	if (!err) {
		run->state = c;
		run->barrier = &c->barrier;
	}
	return err;
}

static void begin(struct run *run, uint64_t deadline_ns, uint64_t messages)
{
	client__begin(run->state, deadline_ns, messages);
}

static void stop(struct run *run)
{
	client__stop(run->state);
}

static void abandon(struct run *run)
{
	client__abort(run->state);
}

static void failure(const struct run *run, struct failure *f)
{
	client__failure(run->state, f);
}

static uint64_t count(struct run *run, struct result *r)
{
	client__sum(run->state, &r->visits);
	if (!r->visits.end_ns)
		r->visits.end_ns = now_ns();
	r->received = r->bytes = r->visits.bytes;
	r->messages = r->visits.answered;
	r->errors = r->visits.errors;
	r->latency = &r->visits.answer;
	r->span = "connect..answer";
	return r->visits.end_ns;
}

static void put_away(struct run *run)
{
	client__destroy(run->state);
}

const struct run_ops run_serving = {
	.prepare = raise_limit,
	.fork = fork_server,
	.connect = connect_client,
	.begin = begin,
	.stop = stop,
	.abandon = abandon,
	.failure = failure,
	.count = count,
	.print = result__print_serving,
	.put_away = put_away,
};
