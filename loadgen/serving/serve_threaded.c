/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A detached thread for each connection. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "loadgen/serving/serve_ops.h"
#include "loadgen/serving/server.h"

#define STACK_BYTES (256u << 10) /* thousands of threads: not 8 MiB of addresses each */

struct task {
	struct server *server;
	struct exchange exchange;
};

static void *answer(void *arg)
{
	struct task *t = arg;

	/* What keeps one thread from answering keeps the server from serving. */
	if (server__answer(t->server, &t->exchange))
		_exit(STATUS_FAILED);
	free(t);
	return NULL;
}

static int serve_with(struct server *s, const pthread_attr_t *attributes)
{
	pthread_t thread;
	struct task *t;
	int err;

	for (;;) {
		t = malloc(sizeof(*t));
		if (!t)
			return server__fail(s, -ENOMEM, "take a connection");
		t->server = s;
		err = server__accept(s, &t->exchange, 0);
		if (err < 0) {
			free(t);
			return err;
		}
		err = pthread_create(&thread, attributes, answer, t);
		if (!err)
			continue;
		close(t->exchange.fd);
		free(t);
		return server__fail(s, -err, "start a thread for a connection");
	}
}

static int serve(struct server *s)
{
	pthread_attr_t attributes;
	int err;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	err = serve_with(s, &attributes);
	pthread_attr_destroy(&attributes);
	return err;
}

const struct serve_ops serve_threaded = {
	.name = "threaded",
	.serve = serve,
};
