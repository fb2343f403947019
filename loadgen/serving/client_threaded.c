/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A thread for each connection under way. */
#include <errno.h>
#include <poll.h>

#include "loadgen/serving/client.h"

/* 0, -ECANCELED when it is to be given up, -ETIMEDOUT, or another -errno. */
static int await(const struct visit *v, const struct client *c, short events)
{
	struct pollfd p[] = {{.fd = v->fd, .events = events},
			     {.fd = c->abort_fd, .events = POLLIN}};
	int n;

	do {
		n = poll(p, 2, VISIT_LOOK_MS);
		if (!n && visit__is_lost(v, c))
			return -ETIMEDOUT;
	} while (!n || (n < 0 && errno == EINTR));
	if (n < 0)
		return -errno;
	return p[1].revents ? -ECANCELED : 0;
}

static int visit(struct visit *v, struct visitor *who)
{
	const struct client *c = who->client;
	int err = visit__begin(v, c, &who->visits);

	if (!err)
		err = await(v, c, POLLOUT);
	if (!err)
		err = visit__connected(v);
	while (!err) {
		err = await(v, c, POLLIN);
		if (!err)
			err = visit__read(v);
	}
	return err > 0 ? 0 : err;
}

static void run(struct visitor *who)
{
	struct visit v;

	for (uint64_t i = 0; i < who->rounds && !who->failure.status; i++) {
		if (now_ns() >= atomic_load(&who->client->deadline_ns))
			return;
		visit__end(&v, visit(&v, who), who);
	}
}

const struct client_ops client_threaded = {.name = "threaded", .run = run};
