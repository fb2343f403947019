/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the models share, taking a connection and answering it; and how the process begins. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loadgen/load.h"
#include "loadgen/send/sender.h"
#include "loadgen/serving/server.h"
#include "loadgen/system/child.h"
#include "loadgen/system/listener.h"

#define BEGIN_TIMEOUT_MS 1000

int server__fail(struct server *s, int err, const char *what)
{
	return failure__set(&s->shared->failure, STATUS_FAILED, err, "the server cannot %s: %s%s",
			    what, strerror(-err),
			    err == -EMFILE || err == -ENFILE
				    ? "; raise the limit (ulimit -n) or give fewer --connections"
			    : err == -EAGAIN
				    ? "; raise the limit of threads (ulimit -u) or give fewer "
				      "--connections"
				    : "");
}

static int accept_next(struct server *s, struct sockaddr_storage *peer, int flags)
{
	socklen_t length = sizeof(*peer);
	int fd;

	do
		fd = accept4(s->listener, (struct sockaddr *)peer, &length, flags | SOCK_CLOEXEC);
	while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
	return fd;
}

/* Its port is marked before it connects, and for one connection. */
static bool is_ours(struct server *s, const struct sockaddr_storage *peer)
{
	return listener__same_host(peer, &s->shared->client) &&
	       atomic_exchange(&s->shared->ports[listener__port_of(peer)].ours, false);
}

int server__accept(struct server *s, struct exchange *x, int flags)
{
	struct sockaddr_storage peer;

	while ((x->fd = accept_next(s, &peer, flags)) >= 0 && !is_ours(s, &peer)) {
		close(x->fd);
		atomic_fetch_add(&s->shared->strangers, 1);
	}
	if (x->fd < 0)
		return errno == EAGAIN ? 0 : server__fail(s, -errno, "take a connection");
	x->server = s;
	x->port = listener__port_of(&peer);
	x->length = x->sent = 0;
	atomic_store(&s->shared->ports[x->port].accepted_ns, now_ns());
	return 1;
}

static int prepare(struct exchange *x)
{
	int n = procinfo__answer(x->text);

	if (n < 0)
		return server__fail(x->server, n, "read /proc");
	x->length = (size_t)n;
	atomic_store(&x->server->shared->ports[x->port].ready_ns, now_ns());
	return 0;
}

int server__answer(struct exchange *x)
{
	int err = x->length ? 0 : prepare(x);

	while (!err && x->sent < x->length) {
		ssize_t n = send(x->fd, x->text + x->sent, x->length - x->sent, MSG_NOSIGNAL);

		if (n >= 0)
			x->sent += (size_t)n;
		else if (errno == EAGAIN)
			return -EAGAIN;
		else if (errno != EINTR)
			break;
	}
	close(x->fd);
	return err;
}

static void *run_model(void *arg)
{
	struct server *s = arg;

	s->model->serve(s);
	_exit(STATUS_FAILED); /* it said why */
}

/*
 * The model has a thread of its own, so that this one can wait for the parent's end.
 * It begins when told to: counters are opened on a process that has one thread.
 */
static void answer(struct request *q, void *server)
{
	pthread_t model;

	if (q->type == REQUEST_CPU_TIME)
		cpu_time__answer(q);
	else if (pthread_create(&model, NULL, run_model, server))
		_exit(STATUS_FAILED);
}

int serving__start(struct child *c, struct listener *l, const struct load *load,
		   const struct cpus *cpus, struct failure *f)
{
	int err = child__fork(c, "server", sizeof(struct server_shared), l->fd,
			      cpus->split ? &cpus->sender : NULL, f);

	if (err > 0) {
		struct server s = {.listener = l->fd,
				   .model = serve_model__find(load->server_model),
				   .shared = c->shared};

		while (child__answer(c->channel, answer, &s))
			;
		_exit(0);
	}
	listener__close(l);
	return err;
}

int serving__begin(struct child *c, struct failure *f)
{
	struct request q = {.type = REQUEST_BEGIN};
	int err = child__request(c, &q, BEGIN_TIMEOUT_MS);

	if (err == -EPIPE)
		child__explain_death(c, f);
	return err ? failure__set(f, STATUS_FAILED, err, "the server does not begin: %s",
				  strerror(-err))
		   : 0;
}
