/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One connection of the client: connect, read to the end of file, close. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "loadgen/serving/client.h"
#include "loadgen/serving/server.h"
#include "loadgen/system/listener.h"

#define LOST_AGE_NS  10000000000ULL /* a SYN retransmitted three times has waited 7 s */
#define LOST_IDLE_NS 5000000000ULL

/* Bound before it connects, so that the server can know it. */
static int mark_port(struct visit *v, const struct client *c)
{
	struct sockaddr_storage own = c->shared->client;
	socklen_t length = c->length;

	if (bind(v->fd, (struct sockaddr *)&own, length) ||
	    getsockname(v->fd, (struct sockaddr *)&own, &length))
		return errno == EADDRINUSE ? -EADDRNOTAVAIL : -errno;
	v->port = listener__port_of(&own);
	atomic_store(&c->shared->ports[v->port].ours, true);
	return 0;
}

int visit__begin(struct visit *v, const struct client *c, struct visits *count)
{
	int err;

	*v = (struct visit){.fd = -1};
	count->started++;
	v->fd = socket(c->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	err = v->fd < 0 ? -errno : mark_port(v, c);
	v->begin_ns = now_ns();
	if (err)
		return err;
	if (connect(v->fd, (const struct sockaddr *)&c->address, c->length) && errno != EINPROGRESS)
		return -errno;
	return 0;
}

int visit__connected(struct visit *v)
{
	socklen_t length = sizeof(int);
	int err = 0;

	if (getsockopt(v->fd, SOL_SOCKET, SO_ERROR, &err, &length))
		return -errno;
	v->connected_ns = now_ns();
	v->connected = true;
	return -err;
}

int visit__read(struct visit *v)
{
	for (;;) {
		size_t room = sizeof(v->text) - v->length;
		ssize_t n = recv(v->fd, v->text + v->length, room, 0);

		if (n > 0)
			v->length += (size_t)n;
		else if (!n)
			return room ? 1 : -EMSGSIZE;
		else if (errno == EAGAIN)
			return 0;
		else if (errno != EINTR)
			return -errno;
	}
}

/* Two processes, a line each; a machine has at least two, we are two ourselves. */
static bool is_answer(const struct visit *v)
{
	unsigned int lines = 0;

	for (size_t i = 0; i < v->length; i++)
		lines += v->text[i] == '\n';
	return lines == PROCINFO_TOP && v->text[v->length - 1] == '\n';
}

static uint64_t between(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

static void count_answer(const struct visit *v, struct visitor *who)
{
	struct served *served = &who->client->shared->ports[v->port];
	uint64_t accepted = atomic_load(&served->accepted_ns);
	struct visits *c = &who->visits;

	c->answered++;
	atomic_store_explicit(&who->client->progress_ns, now_ns(), memory_order_relaxed);
	c->bytes += v->length;
	c->end_ns = now_ns();
	hist_add(&c->connect, v->connected_ns - v->begin_ns);
	hist_add(&c->accept, between(v->connected_ns, accepted));
	hist_add(&c->work, between(accepted, atomic_load(&served->ready_ns)));
	hist_add(&c->answer, c->end_ns - v->begin_ns);
}

static void count_failure(int err, struct visitor *who)
{
	who->visits.errors[-err < ERRNO_LIMIT ? -err : 0]++;
	if (err == -EMFILE || err == -ENFILE)
		failure__set(&who->failure, STATUS_FAILED, err,
			     "cannot make a socket: %s; raise the limit (ulimit -n) or give fewer "
			     "--connections",
			     strerror(-err));
	else if (err == -EADDRNOTAVAIL)
		failure__set(&who->failure, STATUS_FAILED, err,
			     "no port is free for another connection: widen "
			     "net.ipv4.ip_local_port_range, or give fewer --connections");
	else
		failure__set(&who->failure, STATUS_FAILED, err, "a connection failed: %s",
			     err == -EBADMSG ? "the answer is not two processes" : strerror(-err));
}

bool visit__is_lost(const struct visit *v, const struct client *c)
{
	uint64_t now = now_ns();

	return now - v->begin_ns >= LOST_AGE_NS &&
	       between(atomic_load_explicit(&c->progress_ns, memory_order_relaxed), now) >=
		       LOST_IDLE_NS;
}

void visit__end(struct visit *v, int err, struct visitor *who)
{
	if (!err && !is_answer(v))
		err = -EBADMSG;
	if (err == -ECANCELED)
		who->visits.unfinished++;
	else if (err == -ETIMEDOUT)
		who->visits.unanswered++;
	else if (err)
		count_failure(err, who);
	else
		count_answer(v, who);
	if (v->fd >= 0)
		close(v->fd);
	v->fd = -1;
}
