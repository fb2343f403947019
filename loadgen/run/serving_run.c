/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The serving process stands for the sender, whose sends are measured; this one,
 * which conducts, is the client and stands for the receiver.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "loadgen/load.h"
#include "loadgen/receive/listener.h"
#include "loadgen/run/control.h"
#include "loadgen/run/phase.h"
#include "loadgen/run/serving_run.h"
#include "loadgen/serving/client.h"
#include "loadgen/serving/server.h"
#include "loadgen/system/link.h"

#define GRACE_NS    2000000000ULL
#define DESCRIPTORS 64 /* beside the connections */

struct run {
	const struct load *load;
	struct control *control;
	struct link link;
	struct listener listener;
	struct serving *serving;
	struct client *client;
	struct cpus cpus;
	bool stopped;
	bool server_dead;
};

/* Each of both ends holds a descriptor a connection. */
static int raise_limit(const struct load *load, struct failure *f)
{
	rlim_t needed = load->connections + DESCRIPTORS;
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
				    load->connections, (unsigned long long)needed,
				    (unsigned long long)limit.rlim_max);
	return 0;
}

static int prepare(struct run *run, struct failure *f)
{
	int err;

	if (run->load->pinning == PIN_AUTO)
		cpus__plan(&run->cpus);
	err = raise_limit(run->load, f);
	if (!err)
		err = run->load->link ? link__create(&run->link, f) : 0;
	if (!err)
		err = listener__open(&run->listener, run->load, f);
	if (!err)
		err = serving__start(&run->serving, &run->listener, run->load, &run->cpus, f);
	if (!err)
		err = link__enter_sender(&run->link, f);
	if (err)
		return err;
	if (run->cpus.split)
		sched_setaffinity(0, sizeof(run->cpus.receiver), &run->cpus.receiver);
	return control__hello(run->control, serving__pid(run->serving), getpid(), f);
}

static void stop(struct run *run)
{
	run->stopped = true;
	client__stop(run->client);
}

static void bury_server(struct run *run, struct failure *f)
{
	run->server_dead = true;
	serving__died(run->serving, f);
	stop(run);
	client__abort(run->client);
}

static int hear(struct run *run, struct failure *f)
{
	int type = control__read(run->control, f);

	if (type == CONTROL_STOP)
		stop(run);
	else if (type > 0)
		return failure__set(f, STATUS_FAILED, -EPROTO,
				    "the driver sent message %d within a phase", type);
	return type < 0 ? type : 0;
}

/* Asked to stop, connections have so long to be answered; else each has its own time-out. */
static int ms_left(const struct run *run, uint64_t stopped_ns)
{
	uint64_t now = now_ns();

	if (!run->stopped)
		return -1;
	return now - stopped_ns >= GRACE_NS ? 0
					    : (int)((GRACE_NS - (now - stopped_ns)) / 1000000) + 1;
}

/* Returns once the client is parked. */
static int wait_parked(struct run *run, struct failure *f)
{
	struct pollfd events[] = {
		{.fd = run->client->parking.fd, .events = POLLIN},
		{.fd = control__fd(run->control), .events = POLLIN},
		{.fd = run->server_dead ? -1 : serving__fd(run->serving)}, /* hang-up alone */
	};
	uint64_t stopped_ns = now_ns();
	int n, err;

	for (;;) {
		n = poll(events, 3, ms_left(run, stopped_ns));
		if (n < 0 && errno != EINTR)
			return failure__set(f, STATUS_FAILED, -errno, "poll: %m");
		if (!n)
			client__abort(run->client);
		if (n > 0 && events[2].revents) {
			bury_server(run, f);
			events[2].fd = -1;
		}
		if (n > 0 && events[0].revents) {
			parking__acknowledge(&run->client->parking);
			return 0;
		}
		if (n > 0 && events[1].revents) {
			stopped_ns = run->stopped ? stopped_ns : now_ns();
			err = hear(run, f);
			if (err)
				return err;
		}
	}
}

/* Up to the first PARKED. What fails here leaves nothing to report but itself. */
static int warm_up(struct run *run, struct failure *f)
{
	int err = serving__begin(run->serving, f);

	if (!err)
		err = client__create(&run->client, run->load, &run->listener,
				     serving__shared(run->serving), f);
	if (!err)
		err = wait_parked(run, f);
	if (!err && !f->status && run->load->warmup_s > 0 && !run->stopped) {
		client__begin(run->client, now_ns() + (uint64_t)(run->load->warmup_s * 1e9),
			      UINT64_MAX);
		err = wait_parked(run, f);
		client__failure(run->client, f);
	}
	return f->status && !err ? -ECANCELED : err;
}

static struct cpu_time since(struct cpu_time then, struct cpu_time now)
{
	return (struct cpu_time){now.user_s - then.user_s, now.system_s - then.system_s};
}

static void read_netstat(const struct run *run, struct netstat *n)
{
	netstat__read(n);
	if (run->load->link)
		netstat__add(n, serving__pid(run->serving));
}

static int window(struct run *run, struct result *r, struct failure *f)
{
	const struct load *load = run->load;
	struct cpu_time server, client, now;
	uint64_t start, deadline = PHASE_FOREVER;
	bool known;
	int err;

	read_netstat(run, &r->netstat_before);
	known = !serving__cpu_time(run->serving, &server);
	client = cpu_time__own();
	start = now_ns();
	if (!load->messages)
		deadline = start + (uint64_t)(load->duration_s * 1e9);
	if (run->stopped)
		deadline = 0;
	client__begin(run->client, deadline, load->messages ? load->messages : UINT64_MAX);
	err = wait_parked(run, &r->failure);
	if (err) {
		failure__adopt(f, &r->failure);
		return err;
	}
	r->receiver = since(client, cpu_time__own());
	r->sender_known = known && !run->server_dead && !serving__cpu_time(run->serving, &now);
	if (r->sender_known)
		r->sender = since(server, now);
	r->receiver_known = true;
	read_netstat(run, &r->netstat_after);
	client__failure(run->client, &r->failure);
	client__sum(run->client, &r->visits);
	if (!r->visits.end_ns)
		r->visits.end_ns = now_ns();
	r->received = r->visits.bytes;
	r->elapsed_s = (double)(r->visits.end_ns - start) / 1e9;
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

int serving_run__execute(const struct load *load, struct control *control, struct result *r,
			 struct failure *f)
{
	struct run run = {
		.load = load, .control = control, .link = {.sender = -1}, .listener = {.fd = -1}};
	int err;

	memset(r, 0, sizeof(*r));
	r->load = load;
	err = prepare(&run, f);
	if (!err)
		err = conduct(&run, r, f);
	r->cpus = run.cpus;
	if (err && run.client)
		client__abort(run.client);
	client__destroy(run.client);
	serving__stop(run.serving);
	listener__close(&run.listener);
	link__close(&run.link);
	return err;
}
