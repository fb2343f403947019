// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The server models: how one process serves many connections. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

#include "loadgen/serving/server.h"

#define EVENTS	    256
#define OTHERS	    24 /* descriptors below FD_SETSIZE that are not connections: a bound */
#define STACK_BYTES (256u << 10) /* thousands of threads: not 8 MiB of addresses each */

/* One connection after the other: while one is answered, the others wait in the queue. */
static int serve_iterative(struct server *s)
{
	struct exchange x;
	int err;

	do {
		err = server__accept(s, &x, 0);
		if (err > 0)
			err = server__answer(&x);
	} while (!err);
	return err;
}

/*
 * Takes connections as long as any come, or, of a listener that does not block, wait. begin keeps
 * what it is given, unless it fails.
 */
static int take_all(struct server *s, int flags, int (*begin)(struct exchange *x, void *how),
		    void *how, const char *begins)
{
	struct exchange *x;
	int err;

	do {
		x = malloc(sizeof(*x));
		if (!x)
			return server__fail(s, -ENOMEM, "take a connection");
		err = server__accept(s, x, flags);
		if (err <= 0)
			break;
		err = begin(x, how);
		if (!err)
			continue;
		close(x->fd);
		server__fail(s, err, begins);
	} while (!err);
	free(x);
	return err;
}

static void *answer(void *x)
{
	/* What keeps one thread from answering keeps the server from serving. */
	if (server__answer(x))
		_exit(STATUS_FAILED);
	free(x);
	return NULL;
}

static int start_thread(struct exchange *x, void *attributes)
{
	pthread_t thread;

	return -pthread_create(&thread, attributes, answer, x);
}

/* A detached thread for each connection. */
static int serve_threaded(struct server *s)
{
	pthread_attr_t attributes;
	int err;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	err = take_all(s, 0, start_thread, &attributes, "start a thread for a connection");
	pthread_attr_destroy(&attributes);
	return err;
}

struct table {
	struct exchange *of[FD_SETSIZE]; /* by descriptor */
	fd_set readable, writable;	 /* what is waited for */
	int highest;
};

static int watch_by_select(struct exchange *x, void *table)
{
	struct table *t = table;

	if (x->fd >= FD_SETSIZE)
		return -EMFILE;
	t->of[x->fd] = x;
	FD_SET(x->fd, &t->writable);
	if (x->fd > t->highest)
		t->highest = x->fd;
	return 0;
}

static int answer_all(struct table *t, const fd_set *ready)
{
	for (int fd = 0, top = t->highest; fd <= top; fd++) {
		int err;

		if (!FD_ISSET(fd, ready))
			continue;
		err = server__answer(t->of[fd]);
		if (err == -EAGAIN)
			continue;
		free(t->of[fd]);
		FD_CLR(fd, &t->writable);
		if (err)
			return err;
	}
	return 0;
}

/* One thread, which select() tells of new connections and of those that can be written. */
static int serve_by_select(struct server *s)
{
	static struct table t; /* one server a process */
	int err = 0;

	t.highest = s->listener;
	FD_SET(s->listener, &t.readable);
	fcntl(s->listener, F_SETFL, O_NONBLOCK);
	while (!err) {
		fd_set readable = t.readable, writable = t.writable;

		if (select(t.highest + 1, &readable, &writable, NULL, NULL) < 0) {
			if (errno == EINTR)
				continue;
			return server__fail(s, -errno, "select");
		}
		err = answer_all(&t, &writable);
		if (!err && FD_ISSET(s->listener, &readable))
			err = take_all(s, SOCK_NONBLOCK, watch_by_select, &t,
				       "watch a descriptor of FD_SETSIZE or above");
	}
	return err;
}

/* x NULL: the listener. */
static int watch(int epoll, int fd, struct exchange *x)
{
	struct epoll_event e = {.events = x ? EPOLLOUT : EPOLLIN, .data.ptr = x};

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

static int watch_by_epoll(struct exchange *x, void *epoll)
{
	return watch(*(int *)epoll, x->fd, x);
}

static int handle(struct server *s, int epoll, struct exchange *x)
{
	int err;

	if (!x)
		return take_all(s, SOCK_NONBLOCK, watch_by_epoll, &epoll, "watch a connection");
	err = server__answer(x); /* closing it takes it out of the set */
	if (err == -EAGAIN)
		return 0;
	free(x);
	return err;
}

/* One thread, which epoll tells of new connections and of those that can be written. */
static int serve_by_epoll(struct server *s)
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

const struct serve_model serve_models[] = {
	{"iterative", serve_iterative, 0, NULL},
	{"threaded", serve_threaded, 0, NULL},
	{"select", serve_by_select, FD_SETSIZE - OTHERS,
	 "select() cannot watch descriptors from 1024 on (FD_SETSIZE)"},
	{"epoll", serve_by_epoll, 0, NULL},
};
const size_t serve_model_count = sizeof(serve_models) / sizeof(serve_models[0]);

const struct serve_model *serve_model__find(const char *name)
{
	for (size_t i = 0; i < serve_model_count; i++)
		if (!strcmp(serve_models[i].name, name))
			return &serve_models[i];
	return NULL;
}
