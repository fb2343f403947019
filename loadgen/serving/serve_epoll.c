/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One thread, which epoll tells of new connections and of those that can be written. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loadgen/serving/serve_ops.h"
#include "loadgen/serving/server.h"

#define EVENTS 256

static int watch(int epoll, int fd, struct exchange *x)
{
	struct epoll_event e = {.events = x ? EPOLLOUT : EPOLLIN, .data.ptr = x};

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

static int accept_all(struct server *s, int epoll)
{
	struct exchange x, *kept;
	int got, err;

	while ((got = server__accept(s, &x, SOCK_NONBLOCK)) > 0) {
		kept = malloc(sizeof(*kept));
		err = kept ? 0 : -ENOMEM;
		if (!err) {
			*kept = x;
			err = watch(epoll, x.fd, kept);
		}
		if (!err)
			continue;
		free(kept);
		close(x.fd);
		return server__fail(s, err, "watch a connection");
	}
	return got;
}

static int handle(struct server *s, int epoll, struct exchange *x)
{
	int err;

	if (!x)
		return accept_all(s, epoll);
	err = server__answer(s, x); /* closing it takes it out of the set */
	if (err == -EAGAIN)
		return 0;
	free(x);
	return err;
}

static int serve(struct server *s)
{
	struct epoll_event events[EVENTS];
	int epoll = epoll_create1(EPOLL_CLOEXEC), err, n;

	if (epoll < 0)
		return server__fail(s, -errno, "epoll");
	fcntl(s->listener, F_SETFL, O_NONBLOCK);
	err = watch(epoll, s->listener, NULL);
	while (!err) {
		n = epoll_wait(epoll, events, EVENTS, -1);
		if (n < 0 && errno != EINTR)
			err = server__fail(s, -errno, "epoll");
		for (int i = 0; i < n && !err; i++)
			err = handle(s, epoll, events[i].data.ptr);
	}
	close(epoll);
	return err;
}

const struct serve_ops serve_epoll = {
	.name = "epoll",
	.serve = serve,
};
