/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loadgen/load.h"
#include "loadgen/receive/listener.h"
#include "loadgen/receive/peer.h"
#include "loadgen/run/phase.h"
#include "loadgen/run/run.h"
#include "loadgen/run/serving_run.h"
#include "loadgen/run/verification.h"
#include "loadgen/send/send_ops.h"
#include "loadgen/system/link.h"

struct run {
	const struct load *load;
	const struct send_ops *ops;
	struct control *control;
	struct link link;
	struct listener listener;
	struct peer peer;
	struct slot *slots;
	int *fds;
	struct tcp_state *tcp; /* of each, when the window opened */
	unsigned int connected;
	struct phase phase; /* owns crew and receiver */
	struct cpus cpus;
};

static struct cpu_time since(struct cpu_time then, struct cpu_time now)
{
	return (struct cpu_time){now.user_s - then.user_s, now.system_s - then.system_s};
}

/* Both processes exist, each on its processors; no connection, no thread yet. */
static int prepare(struct run *run, struct failure *f)
{
	const struct load *load = run->load;
	int err;

	if (load->pinning == PIN_AUTO && !load->peer) /* else all are ours */
		cpus__plan(&run->cpus);
	run->slots = slot__map(load->threads);
	run->fds = calloc(load->threads, sizeof(*run->fds));
	run->tcp = calloc(load->threads, sizeof(*run->tcp));
	if (!run->slots || !run->fds || !run->tcp)
		return failure__set(f, STATUS_FAILED, -ENOMEM, "out of memory");
	err = load->link ? link__create(&run->link, f) : 0;
	if (err)
		return err;
	err = load->peer ? peer__open(&run->peer, &run->listener, load, f)
			 : listener__open(&run->listener, load, f);
	if (err)
		return err;
	err = receiver__start(&run->phase.receiver, &run->listener, run->slots, load, &run->cpus,
			      f);
	if (!err)
		err = link__enter_sender(&run->link, f);
	if (err)
		return err;
	if (run->cpus.split)
		sched_setaffinity(0, sizeof(run->cpus.sender), &run->cpus.sender);
	return control__hello(run->control, getpid(),
			      load->peer ? 0 : receiver__pid(run->phase.receiver), f);
}

static int own_port(int fd)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &length))
		return -errno;
	return (int)listener__port_of(&address);
}

/* One after another, each acknowledged: so each worker knows its slot. */
static int connect_all(struct run *run, struct failure *f)
{
	while (run->connected < run->load->threads) {
		int fd = listener__connect(&run->listener, run->load, f);
		int port, err;

		if (fd < 0)
			return fd;
		run->fds[run->connected] = fd;
		port = own_port(fd);
		err = run->load->peer ? peer__introduce(&run->peer, fd, run->connected,
							(uint32_t)port, run->load, f)
				      : 0;
		if (!err)
			err = receiver__adopt(run->phase.receiver, run->connected,
					      (unsigned int)port, f);
		if (!err)
			receiver__mark(run->phase.receiver, run->connected,
				       load__rcvlowat(run->load));
		run->connected++;
		if (err)
			return err;
	}
	return 0;
}

/* Up to the first PARKED. What fails here leaves nothing to report but itself. */
static int warm_up(struct run *run, struct failure *f)
{
	uint64_t deadline = 0;
	int err;

	err = crew__create(&run->phase.crew, run->load, run->ops, run->fds, run->slots,
			   run->phase.receiver, f);
	if (!err)
		err = phase__wait(&run->phase, PHASE_FOREVER, f);
	if (!err)
		crew__failure(run->phase.crew, f);
	if (!err && !f->status && run->load->warmup_s > 0 && !run->phase.stopped) {
		deadline = now_ns() + (uint64_t)(run->load->warmup_s * 1e9);
		crew__begin(run->phase.crew, deadline, UINT64_MAX);
		err = phase__wait(&run->phase, deadline, f);
		crew__failure(run->phase.crew, f);
	}
	return f->status && !err ? -ECANCELED : err;
}

static void read_netstat(const struct run *run, struct netstat *n)
{
	netstat__read(n);
	if (run->load->link)
		netstat__add(n, receiver__pid(run->phase.receiver));
}

static void open_tcp(struct run *run, struct result *r)
{
	read_netstat(run, &r->netstat_before);
	for (unsigned int i = 0; i < run->load->threads; i++)
		tcp_state__read(run->fds[i], &run->tcp[i]);
}

static void close_tcp(struct run *run, struct result *r)
{
	struct tcp_state now;

	read_netstat(run, &r->netstat_after);
	for (unsigned int i = 0; i < run->load->threads; i++)
		if (!tcp_state__read(run->fds[i], &now))
			tcp_sockets__add(&r->sockets, &run->tcp[i], &now);
}

static int window(struct run *run, struct result *r, struct failure *f)
{
	const struct load *load = run->load;
	struct cpu_time sender, receiver = {0}, now;
	uint64_t start, end, deadline = PHASE_FOREVER;
	bool known;
	int err;

	open_tcp(run, r);
	known = !receiver__cpu_time(run->phase.receiver, &receiver);
	sender = cpu_time__own();
	start = now_ns();
	if (!load->messages)
		deadline = start + (uint64_t)(load->duration_s * 1e9);
	if (run->phase.stopped)
		deadline = 0;
	crew__begin(run->phase.crew, deadline, load->messages ? load->messages : UINT64_MAX);
	err = phase__wait(&run->phase, deadline, &r->failure);
	if (err) {
		failure__adopt(f, &r->failure);
		return err;
	}
	now = cpu_time__own();
	r->sender = since(sender, now);
	r->sender_known = true;
	close_tcp(run, r);
	err = receiver__cpu_time(run->phase.receiver, &now);
	if (err == -EPIPE) /* before the workers' failures, which it explains */
		receiver__died(run->phase.receiver, &r->failure);
	r->receiver_known = known && !err;
	if (r->receiver_known)
		r->receiver = since(receiver, now);
	crew__failure(run->phase.crew, &r->failure);
	crew__sum(run->phase.crew, &r->sent, &r->requests, &r->received, &end);
	r->elapsed_s = (double)(end - start) / 1e9;
	return 0;
}

static int conduct(struct run *run, struct result *r, struct failure *f)
{
	uint64_t checked_before;
	int stopped = 0, ignored, err;

	err = control__await(run->control, CONTROL_START, &stopped, f);
	if (!err)
		err = connect_all(run, f);
	if (!err)
		err = warm_up(run, f);
	if (err)
		return err;
	/* A driver's STOP ended the warm-up alone; Ctrl-C ends all there is. */
	run->phase.stopped = control__signal(run->control);
	err = control__parked(run->control, run->listener.port, f);
	if (!err)
		err = control__await(run->control, CONTROL_GO, &stopped, f);
	if (err)
		return err;
	run->phase.stopped |= stopped;
	checked_before = verification__checked(run->slots, run->load->threads);
	err = window(run, r, f);
	if (!err)
		err = control__parked(run->control, run->listener.port, f);
	if (!err)
		err = control__await(run->control, CONTROL_FINISH, &ignored, f);
	if (!err && run->load->verify)
		verification__judge(run->slots, checked_before, r);
	r->port = run->listener.port;
	memcpy(r->peer, run->peer.machine, sizeof(r->peer));
	return err;
}

static void put_away(struct run *run, int err)
{
	if (err && run->phase.crew) {
		crew__stop(run->phase.crew);
		crew__abandon(run->phase.crew);
	}
	crew__destroy(run->phase.crew);
	for (unsigned int i = 0; i < run->connected; i++)
		close(run->fds[i]);
	receiver__stop(run->phase.receiver);
	listener__close(&run->listener);
	link__close(&run->link);
	slot__unmap(run->slots, run->load->threads);
	free(run->fds);
	free(run->tcp);
}

static int stream(const struct load *load, struct control *control, struct result *r,
		  struct failure *f)
{
	struct run run = {
		.load = load,
		.ops = variants__find(load->variant),
		.control = control,
		.link = {.sender = -1},
		.listener = {.fd = -1},
		.phase = {.control = control},
	};
	int err;

	memset(r, 0, sizeof(*r));
	r->load = load;
	r->zerocopy = run.ops->flags & SEND_ZEROCOPY;
	err = prepare(&run, f);
	run.phase.slots = run.slots;
	run.phase.slot_count = load->threads;
	if (!err)
		err = conduct(&run, r, f);
	r->cpus = run.cpus;
	put_away(&run, err);
	return err;
}

int run__execute(const struct load *load, struct control *control, struct result *r,
		 struct failure *f)
{
	return (load->workload == WORKLOAD_PROCINFO ? serving_run__execute : stream)(load, control,
										     r, f);
}
