/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The serving process as its parent sees it, and how it begins. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "loadgen/load.h"
#include "loadgen/receive/listener.h"
#include "loadgen/serving/serve_ops.h"
#include "loadgen/serving/server.h"
#include "loadgen/system/cpus.h"

#define BEGIN_TIMEOUT_MS 1000

static void *run_model(void *arg)
{
	struct server *s = arg;

	s->ops->serve(s);
	_exit(STATUS_FAILED); /* it said why */
}

/*
 * The model has a thread of its own, so that this one can wait for the parent's end.
 * It begins when told to: counters are opened on a process that has one thread.
 */
static void child(struct server *s, int channel)
{
	struct request q;
	pthread_t model;

	while (read(channel, &q, sizeof(q)) == sizeof(q)) {
		struct reply reply = {.number = q.number, .time = cpu_time__own()};

		if (q.type == REQUEST_BEGIN && pthread_create(&model, NULL, run_model, s))
			_exit(STATUS_FAILED);
		if (write(channel, &reply, sizeof(reply)) != sizeof(reply))
			break;
	}
	_exit(0);
}

int serving__start(struct offspring *o, struct listener *l, const struct load *load,
		   const struct cpus *cpus, struct failure *f)
{
	int err = offspring__fork(o, "server", sizeof(struct server_shared), l->fd,
				  cpus->split ? &cpus->sender : NULL, f);

	if (err > 0)
		child(&(struct server){.listener = l->fd,
				       .ops = models__find(load->server_model),
				       .connections = load->connections,
				       .shared = o->shared},
		      o->channel);
	listener__close(l);
	return err;
}

int serving__begin(struct offspring *o, struct failure *f)
{
	struct request q = {.type = REQUEST_BEGIN};
	struct reply reply;
	int err = offspring__ask(o, &q, &reply, BEGIN_TIMEOUT_MS);

	if (err == -EPIPE)
		offspring__died(o, f);
	return err ? failure__set(f, STATUS_FAILED, err, "the server does not begin: %s",
				  strerror(-err))
		   : 0;
}
