/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/hist_stats.h"
#include "loadgen/load.h"
#include "loadgen/serving/client.h"
#include "loadgen/serving/server.h"
#include "loadgen/system/listener.h"

#define STACK_BYTES (128u << 10)

static unsigned int thread_count(const struct client *c)
{
	return c->ops->single ? 1 : c->load->connections;
}

static void *visitor_main(void *arg)
{
	struct visitor *v = arg;

	while (barrier__wait(&v->client->barrier)) {
		memset(&v->visits, 0, sizeof(v->visits));
		if (!v->failure.status)
			v->client->ops->run(v);
	}
	return NULL;
}

static int allocate(struct client **out, const struct load *load, const struct listener *l,
		    struct server_shared *shared)
{
	struct client *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	c->load = load;
	c->ops = load->client_model == CLIENT_EPOLL ? &client_epoll : &client_threaded;
	c->address = l->address;
	c->length = l->length;
	c->shared = shared;
	c->visitors = calloc(thread_count(c), sizeof(*c->visitors));
	c->abort_fd = eventfd(0, EFD_CLOEXEC);
	err = !c->visitors	? -ENOMEM
	      : c->abort_fd < 0 ? -errno
				: listener__own_address(l, &shared->client);
	if (!err)
		err = barrier__init(&c->barrier);
	if (!err) {
		*out = c;
		return 0;
	}
	if (c->abort_fd >= 0)
		close(c->abort_fd);
	free(c->visitors);
	free(c);
	return err;
}

int client__create(struct client **out, const struct load *load, const struct listener *l,
		   struct server_shared *shared, struct failure *f)
{
	struct client *c;
	unsigned int count;
	int err = allocate(&c, load, l, shared);

	if (err)
		return failure__set(f, STATUS_FAILED, err, "cannot make %u connections: %s",
				    load->connections, strerror(-err));
	count = thread_count(c);
	for (unsigned int i = 0; i < count; i++)
		c->visitors[i].client = c;
	err = barrier__start(&c->barrier, count, visitor_main, c->visitors, sizeof(*c->visitors),
			     STACK_BYTES);
	if (!err) {
		*out = c;
		return 0;
	}
	failure__set(f, STATUS_FAILED, err,
		     "cannot start thread %u of %u: %s; give fewer --connections, or "
		     "--client-model epoll",
		     c->barrier.count + 1, count, strerror(-err));
	client__destroy(c);
	return err;
}

void client__destroy(struct client *c)
{
	if (!c)
		return;
	barrier__destroy(&c->barrier);
	close(c->abort_fd);
	free(c->visitors);
	free(c);
}

void client__begin(struct client *c, uint64_t deadline_ns, uint64_t rounds)
{
	atomic_store(&c->deadline_ns, deadline_ns);
	for (unsigned int i = 0; i < c->barrier.count; i++)
		c->visitors[i].rounds = rounds;
	barrier__begin(&c->barrier);
}

void client__stop(struct client *c)
{
	atomic_store(&c->deadline_ns, 0);
}

void client__abort(struct client *c)
{
	client__stop(c);
	eventfd_write(c->abort_fd, 1);
}

static void add_visits(struct visits *sum, const struct visits *one)
{
	sum->started += one->started;
	sum->answered += one->answered;
	sum->unfinished += one->unfinished;
	sum->unanswered += one->unanswered;
	sum->bytes += one->bytes;
	for (int i = 0; i < ERRNO_LIMIT; i++)
		sum->errors[i] += one->errors[i];
	if (one->end_ns > sum->end_ns)
		sum->end_ns = one->end_ns;
	hist__merge(&sum->connect, &one->connect);
	hist__merge(&sum->accept, &one->accept);
	hist__merge(&sum->work, &one->work);
	hist__merge(&sum->answer, &one->answer);
}

void client__sum(const struct client *c, struct visits *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (unsigned int i = 0; i < c->barrier.count; i++)
		add_visits(sum, &c->visitors[i].visits);
	sum->turned_away = atomic_load(&c->shared->strangers);
}

void client__failure(const struct client *c, struct failure *f)
{
	for (unsigned int i = 0; i < c->barrier.count; i++)
		failure__adopt(f, &c->visitors[i].failure);
}
