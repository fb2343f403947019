/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "loadgen/load.h"
#include "loadgen/run/run.h"

static struct cpu_time since(struct cpu_time then, struct cpu_time now)
{
	return (struct cpu_time){now.user_s - then.user_s, now.system_s - then.system_s};
}

/* Both processes exist, each on its processors; no connection, no thread yet. */
static int prepare(struct run *run, struct failure *f)
{
	const struct load *load = run->load;
	bool sends = run->ops->sends;
	const cpu_set_t *ours = sends ? &run->cpus.sender : &run->cpus.receiver;
	pid_t other;
	int err;

	if (load->pinning == PIN_AUTO && !load->peer) /* else all are ours */
		cpus__plan(&run->cpus);
	err = run->ops->prepare(run, f);
	if (!err && load->link)
		err = link__create(&run->link, f);
	if (!err)
		err = run->ops->fork(run, f);
	if (!err)
		err = link__enter_sender(&run->link, f);
	if (err)
		return err;
	if (run->cpus.split)
		sched_setaffinity(0, sizeof(*ours), ours);
	other = load->peer ? 0 : run->other.pid;
	return control__hello(run->control, sends ? getpid() : other, sends ? other : getpid(), f);
}

static int phase__execute(struct run *run, uint64_t deadline_ns, uint64_t messages,
			  struct failure *f)
{
	run->ops->begin(run, deadline_ns, messages);
	barrier__begin(&run->barrier);
	return phase__wait(run, deadline_ns, f);
}

/* Up to the first PARKED. What fails here leaves nothing to report but itself. */
static int warm_up(struct run *run, struct failure *f)
{
	uint64_t deadline = 0;
	int err = run->ops->connect(run, f);

	if (!err)
		err = phase__wait(run, PHASE_FOREVER, f);
	failure__adopt(f, &run->barrier.failure);
	if (!err && !f->status && run->load->warmup_s > 0 && !run->stopped) {
		deadline = now_ns() + (uint64_t)(run->load->warmup_s * 1e9);
		err = phase__execute(run, deadline, UINT64_MAX, f);
		if (run->given_up)
			failure__set(f, STATUS_FAILED, -ETIMEDOUT, "%s of the warm-up",
				     run->given_up);
		failure__adopt(f, &run->barrier.failure);
	}
	return f->status && !err ? -ECANCELED : err;
}

static void read_netstat(const struct run *run, struct netstat *n)
{
	netstat__read(n);
	if (run->load->link)
		netstat__add_process(n, run->other.pid);
}

static int window(struct run *run, struct result *r, struct failure *f)
{
	const struct load *load = run->load;
	bool sends = run->ops->sends, known;
	struct cpu_time own, theirs, now;
	uint64_t start, deadline = PHASE_FOREVER;
	int err;

	read_netstat(run, &r->netstat_before);
	if (run->ops->open)
		run->ops->open(run);
	known = !child__cpu_time(&run->other, &theirs);
	own = cpu_time__own();
	start = now_ns();
	if (!load->messages)
		deadline = start + (uint64_t)(load->duration_s * 1e9);
	if (run->stopped)
		deadline = 0;
	err = phase__execute(run, deadline, load->messages ? load->messages : UINT64_MAX,
			     &r->failure);
	if (err) {
		failure__adopt(f, &r->failure);
		return err;
	}
	*(sends ? &r->sender : &r->receiver) = since(own, cpu_time__own());
	read_netstat(run, &r->netstat_after);
	if (run->ops->close)
		run->ops->close(run, r);
	err = child__cpu_time(&run->other, &now);
	if (err == -EPIPE) /* before the workers' failures, which it explains */
		child__explain_death(&run->other, &r->failure);
	known = known && !err;
	if (known)
		*(sends ? &r->receiver : &r->sender) = since(theirs, now);
	r->sender_known = sends || known;
	r->receiver_known = !sends || known;
	r->elapsed_s = (double)(run->ops->count(run, r) - start) / 1e9;
	if (run->given_up && run->ops->delivered)
		failure__set(
			&r->failure, STATUS_FAILED, -ETIMEDOUT,
			"%s: %llu of %llu bytes had arrived when its connections were shut down",
			run->given_up, (unsigned long long)r->received,
			(unsigned long long)r->bytes);
	failure__adopt(&r->failure, &run->barrier.failure);
	if (run->ops->check)
		run->ops->check(run, r);
	return 0;
}

static int conduct(struct run *run, struct result *r, struct failure *f)
{
	int stopped = 0, ignored, err;

	err = control__await(run->control, CONTROL_START, &stopped, f);
	if (!err)
		err = warm_up(run, f);
	if (err)
		return err;
	/* A driver's STOP ended the warm-up alone; Ctrl-C ends all there is. */
	run->stopped = control__signal(run->control);
	err = control__parked(run->control, run->listener.port, f);
	if (!err)
		err = control__await(run->control, CONTROL_GO, &stopped, f);
	if (err)
		return err;
	run->stopped |= stopped;
	err = window(run, r, f);
	if (!err)
		err = control__parked(run->control, run->listener.port, f);
	if (!err)
		err = control__await(run->control, CONTROL_FINISH, &ignored, f);
	r->port = run->listener.port;
	return err;
}

int run__execute(const struct load *load, struct control *control, struct result *r,
		 struct failure *f)
{
	struct run run = {
		.load = load,
		.ops = load->workload == WORKLOAD_PROCINFO ? &run_serving : &run_stream,
		.control = control,
		.link = {.sender = -1},
		.listener = {.fd = -1},
	};
	int err;

	memset(r, 0, sizeof(*r));
	r->load = load;
	r->ops = run.ops;
	err = prepare(&run, f);
	if (!err)
		err = conduct(&run, r, f);
	r->cpus = run.cpus;
	if (err && run.barrier.threads) {
		run.ops->stop(&run);
		run.ops->abandon(&run);
	}
	barrier__destroy(&run.barrier);
	run.ops->put_away(&run);
	child__stop(&run.other);
	listener__close(&run.listener);
	link__close(&run.link);
	return err;
}
