/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One thread, which select() tells of new connections and of those that can be written. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loadgen/serving/serve_ops.h"
#include "loadgen/serving/server.h"

#define OTHERS 24 /* descriptors below FD_SETSIZE that are not connections: a bound */

struct table {
	struct exchange *of[FD_SETSIZE]; /* by descriptor */
	fd_set readable, writable;	 /* what is waited for */
	int highest;
};

static int accept_all(struct server *s, struct table *t)
{
	struct exchange x;
	int got;

	while ((got = server__accept(s, &x, SOCK_NONBLOCK)) > 0) {
		if (x.fd >= FD_SETSIZE) {
			close(x.fd);
			return server__fail(s, -EMFILE,
					    "watch a descriptor of FD_SETSIZE or above");
		}
		t->of[x.fd] = malloc(sizeof(x));
		if (!t->of[x.fd]) {
			close(x.fd);
			return server__fail(s, -ENOMEM, "take a connection");
		}
		*t->of[x.fd] = x;
		FD_SET(x.fd, &t->writable);
		if (x.fd > t->highest)
			t->highest = x.fd;
	}
	return got;
}

static int answer_all(struct server *s, struct table *t, const fd_set *ready)
{
	for (int fd = 0, top = t->highest; fd <= top; fd++) {
		int err;

		if (!FD_ISSET(fd, ready))
			continue;
		err = server__answer(s, t->of[fd]);
		if (err == -EAGAIN)
			continue;
		free(t->of[fd]);
		t->of[fd] = NULL;
		FD_CLR(fd, &t->writable);
		if (err)
			return err;
	}
	return 0;
}

static int serve(struct server *s)
{
	static struct table t; /* one server a process */
	int err;

	t.highest = s->listener;
	FD_SET(s->listener, &t.readable);
	fcntl(s->listener, F_SETFL, O_NONBLOCK);
	for (;;) {
		fd_set readable = t.readable, writable = t.writable;

		if (select(t.highest + 1, &readable, &writable, NULL, NULL) < 0) {
			if (errno == EINTR)
				continue;
			return server__fail(s, -errno, "select");
		}
		err = answer_all(s, &t, &writable);
		if (!err && FD_ISSET(s->listener, &readable))
			err = accept_all(s, &t);
		if (err)
			return err;
	}
}

const struct serve_ops serve_select = {
	.name = "select",
	.most = FD_SETSIZE - OTHERS,
	.limit = "select() cannot watch descriptors from 1024 on (FD_SETSIZE)",
	.serve = serve,
};
