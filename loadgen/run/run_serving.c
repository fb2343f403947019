// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The serving process stands for the sender, whose sends are measured; this one,
 * which conducts, is the client and stands for the receiver.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/hist_stats.h"
#include "common/units.h"
#include "loadgen/load.h"
#include "loadgen/run/run.h"
#include "loadgen/serving/server.h"

#define DESCRIPTORS 64 /* beside the connections */
#define STACK_BYTES (128u << 10)

/* Each of both ends holds a descriptor a connection. */
static int raise_limit(struct run *run, struct failure *f)
{
	unsigned int connections = run->load->connections;

	return raise_files(units__text("--connections %u", connections), connections + DESCRIPTORS,
			   " or give fewer", f);
}

static int fork_server(struct run *run, struct failure *f)
{
	int err = listener__open(&run->listener, run->load, f);

	return err ? err : serving__start(&run->other, &run->listener, run->load, &run->cpus, f);
}

static int make_client(struct run *run, unsigned int count)
{
	struct client *c = run->state = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->load = run->load;
	c->barrier = &run->barrier;
	c->address = run->listener.address;
	c->length = run->listener.length;
	c->shared = run->other.shared;
	c->abort_fd = eventfd(0, EFD_CLOEXEC);
	c->visitors = c->abort_fd < 0 ? NULL : calloc(count, sizeof(*c->visitors));
	if (!c->visitors)
		return -errno;
	for (unsigned int i = 0; i < count; i++)
		c->visitors[i].client = c;
	return listener__own_address(&run->listener, &c->shared->client);
}

/* The threads then wait at the barrier; they serve for all phases. */
static int connect_client(struct run *run, struct failure *f)
{
	bool epoll = run->load->client_model == CLIENT_EPOLL;
	unsigned int count = epoll ? 1 : run->load->connections;
	int err = serving__begin(&run->other, f);
	struct client *c;

	if (err)
		return err;
	err = make_client(run, count);
	if (err)
		return failure__set(f, STATUS_FAILED, err, "cannot make %u connections: %s",
				    run->load->connections, strerror(-err));
	c = run->state;
	err = barrier__start(&run->barrier, count, client__visit, c->visitors, sizeof(*c->visitors),
			     STACK_BYTES);
	return err ? failure__set(f, STATUS_FAILED, err,
				  "cannot start thread %u of %u: %s; give fewer --connections, or "
				  "--client-model epoll",
				  run->barrier.count + 1, count, strerror(-err))
		   : 0;
}

static void begin(struct run *run, uint64_t deadline_ns, uint64_t rounds)
{
	struct client *c = run->state;

	atomic_store(&c->deadline_ns, deadline_ns);
	for (unsigned int i = 0; i < run->barrier.count; i++)
		c->visitors[i].rounds = rounds;
}

/* No connection begins any more; those under way end. */
static void stop(struct run *run)
{
	atomic_store(&((struct client *)run->state)->deadline_ns, 0);
}

/* Those under way are given up, too. */
static void abandon(struct run *run)
{
	stop(run);
	eventfd_write(((struct client *)run->state)->abort_fd, 1);
}

static void add_visits(struct visits *sum, const struct visits *one)
{
	add_counters(sum, one, offsetof(struct visits, connect));
	hist__merge(&sum->connect, &one->connect);
	hist__merge(&sum->accept, &one->accept);
	hist__merge(&sum->work, &one->work);
	hist__merge(&sum->answer, &one->answer);
	if (one->end_ns > sum->end_ns)
		sum->end_ns = one->end_ns;
}

static uint64_t count(struct run *run, struct result *r)
{
	const struct client *c = run->state;
	struct visits *v = &r->visits;

	for (unsigned int i = 0; i < run->barrier.count; i++)
		add_visits(v, &c->visitors[i].visits);
	v->turned_away = atomic_load(&c->shared->strangers);
	r->received = r->bytes = v->bytes;
	r->messages = v->answered;
	r->errors = v->errors;
	r->latency = &v->answer;
	r->span = "connect..answer";
	return v->end_ns ? v->end_ns : now_ns();
}

static void put_away(struct run *run)
{
	struct client *c = run->state;

	if (!c)
		return;
	if (c->abort_fd >= 0)
		close(c->abort_fd);
	free(c->visitors);
	free(c);
}

const struct run_ops run_serving = {
	.prepare = raise_limit,
	.fork = fork_server,
	.connect = connect_client,
	.begin = begin,
	.stop = stop,
	.abandon = abandon,
	.count = count,
	.print = result__print_serving,
	.put_away = put_away,
};
