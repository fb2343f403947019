// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The server models, which accept and answer connections, and the start of the serving process. A
 * model is a function here, and a row of serve_models.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loadgen/load.h"
#include "loadgen/send/sender.h"
#include "loadgen/serving/server.h"
#include "loadgen/system/child.h"
#include "loadgen/system/listener.h"

#define BEGIN_TIMEOUT_MS 1000
#define EVENTS		 256
#define STAT_MAX	 1024
#define OTHERS		 24	      /* most descriptors that are not connections */
#define STACK_BYTES	 (256u << 10) /* for thousands of threads; the default is 8 MiB each */

int procinfo__parse(const char *stat, struct procinfo *p)
{
	const char *open = strchr(stat, '('), *close = strrchr(stat, ')');
	size_t length;

	/* A name may contain parentheses and blanks: the last parenthesis ends it. */
	if (!open || !close || close < open || sscanf(stat, "%d", &p->pid) != 1)
		return -EINVAL;
	length = (size_t)(close - open - 1);
	if (length >= sizeof(p->name))
		length = sizeof(p->name) - 1;
	memcpy(p->name, open + 1, length);
	p->name[length] = '\0';
	/* The state and ten numbers follow the name, then user and system time. */
	return sscanf(close + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &p->user,
		      &p->system) == 2
		       ? 0
		       : -EINVAL;
}

static unsigned long long ticks(const struct procinfo *p)
{
	return p->user + p->system;
}

size_t procinfo__keep(struct procinfo *top, size_t count, const struct procinfo *p)
{
	size_t at = count;

	while (at && ticks(&top[at - 1]) < ticks(p))
		at--;
	if (at == PROCINFO_TOP)
		return count;
	if (count < PROCINFO_TOP)
		count++;
	memmove(&top[at + 1], &top[at], (count - at - 1) * sizeof(*top));
	top[at] = *p;
	return count;
}

size_t procinfo__text(const struct procinfo *top, size_t count, char text[PROCINFO_TEXT])
{
	double hertz = (double)sysconf(_SC_CLK_TCK);
	char name[sizeof(top->name)];
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		memcpy(name, top[i].name, sizeof(name));
		for (char *c = name; *c; c++)
			if (!isprint((unsigned char)*c))
				*c = '?';
		used += (size_t)snprintf(text + used, PROCINFO_TEXT - used, "%d %s %.2f %.2f\n",
					 top[i].pid, name, (double)top[i].user / hertz,
					 (double)top[i].system / hertz);
	}
	return used;
}

static int read_process(int proc, const char *pid, struct procinfo *p)
{
	char path[32], stat[STAT_MAX];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%.16s/stat", pid);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, stat, sizeof(stat) - 1);
	close(fd);
	if (n <= 0)
		return -ESRCH;
	stat[n] = '\0';
	return procinfo__parse(stat, p);
}

/* Reads all of /proc. Returns the bytes of the answer, or -errno. */
static int procinfo__answer(char text[PROCINFO_TEXT])
{
	struct procinfo top[PROCINFO_TOP], p;
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t count = 0;
	int err;

	if (!proc)
		return -errno;
	while ((entry = readdir(proc))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		err = read_process(dirfd(proc), entry->d_name, &p);
		if (err == -EMFILE || err == -ENFILE) {
			closedir(proc);
			return err;
		}
		if (!err) /* skips a process that has ended */
			count = procinfo__keep(top, count, &p);
	}
	closedir(proc);
	return (int)procinfo__text(top, count, text);
}

/* The state of a model, in the serving process only. */
struct server {
	int listener;
	const struct serve_model *model;
	struct server_shared *shared;
};

/* A connection, from its acceptance on. */
struct exchange {
	struct server *server;
	int fd;
	unsigned int port;   /* the client's */
	size_t length, sent; /* bytes of the answer; length 0: it is not ready */
	char text[PROCINFO_TEXT];
};

/* Records why the server fails, unless a reason is recorded already. Returns err. */
static int fail_serving(struct server *s, int err, const char *what)
{
	return failure__set(
		&s->shared->failure, STATUS_FAILED, err, "the server cannot %s: %m%s", what,
		err == -EMFILE || err == -ENFILE
			? "; raise the limit (ulimit -n) or give fewer --connections"
		: err == -EAGAIN ? "; raise the limit of threads (ulimit -u) or give fewer "
				   "--connections"
				 : "");
}

/* Returns whether it is our client's, which marks its port before it connects. Clears the mark. */
static bool is_ours(struct server *s, const struct sockaddr_storage *peer)
{
	return listener__same_host(peer, &s->shared->client) &&
	       atomic_exchange(&s->shared->ports[listener__port_of(peer)].ours, false);
}

/*
 * Accepts the client's next connection, with flags for accept4(). Returns 1, 0 if none waits (on a
 * non-blocking listener), or -errno with the reason in s->shared. Closes connections of other
 * clients: their sends would be counted, and they would learn what runs here.
 */
static int accept_connection(struct server *s, struct exchange *x, int flags)
{
	struct sockaddr_storage peer;

	while ((x->fd = listener__accept(s->listener, &peer, flags)) >= 0 && !is_ours(s, &peer)) {
		close(x->fd);
		atomic_fetch_add(&s->shared->turned_away, 1);
	}
	if (x->fd < 0)
		return x->fd == -EAGAIN ? 0 : fail_serving(s, x->fd, "accept a connection");
	x->server = s;
	x->port = listener__port_of(&peer);
	x->length = x->sent = 0;
	atomic_store(&s->shared->ports[x->port].accepted_ns, now_ns());
	return 1;
}

static int prepare_answer(struct exchange *x)
{
	int n = procinfo__answer(x->text);

	if (n < 0)
		return fail_serving(x->server, n, "read /proc");
	x->length = (size_t)n;
	atomic_store(&x->server->shared->ports[x->port].ready_ns, now_ns());
	return 0;
}

/*
 * Sends as much of the answer as the socket takes, then closes. Returns 0 when done, -EAGAIN if it
 * must be called again once the socket is writable, or another -errno with the reason in x->server.
 */
static int answer_connection(struct exchange *x)
{
	int err = x->length ? 0 : prepare_answer(x);

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

/* Serves one connection at a time: the others wait in the queue. */
static int serve_iterative(struct server *s)
{
	struct exchange x;
	int err;

	do {
		err = accept_connection(s, &x, 0);
		if (err > 0)
			err = answer_connection(&x);
	} while (!err);
	return err;
}

/*
 * Accepts connections forever or, on a non-blocking listener, as long as any wait. Calls begin with
 * each; a begin that fails closes the connection itself.
 */
static int accept_all(struct server *s, int flags, int (*begin)(struct exchange *x, void *how),
		      void *how, const char *begins)
{
	struct exchange *x;
	int err;

	do {
		x = malloc(sizeof(*x));
		if (!x)
			return fail_serving(s, -ENOMEM, "accept a connection");
		err = accept_connection(s, x, flags);
		if (err <= 0)
			break;
		err = begin(x, how);
		if (!err)
			continue;
		close(x->fd);
		fail_serving(s, err, begins);
	} while (!err);
	free(x);
	return err;
}

static void *answer_in_thread(void *x)
{
	/* A thread's failure to answer is the server's failure. */
	if (answer_connection(x))
		_exit(STATUS_FAILED);
	free(x);
	return NULL;
}

static int start_thread(struct exchange *x, void *attributes)
{
	pthread_t thread;

	return -pthread_create(&thread, attributes, answer_in_thread, x);
}

/* Serves each connection by a detached thread. */
static int serve_threaded(struct server *s)
{
	pthread_attr_t attributes;
	int err;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	err = accept_all(s, 0, start_thread, &attributes, "start a thread for a connection");
	pthread_attr_destroy(&attributes);
	return err;
}

struct table {
	struct exchange *of[FD_SETSIZE]; /* the index is the descriptor */
	fd_set readable, writable;	 /* descriptors that select() awaits */
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
		err = answer_connection(t->of[fd]);
		if (err == -EAGAIN)
			continue;
		free(t->of[fd]);
		FD_CLR(fd, &t->writable);
		if (err)
			return err;
	}
	return 0;
}

/* Serves in one thread, with select() for new and for writable connections. */
static int serve_by_select(struct server *s)
{
	static struct table t; /* static, because a process has one server */
	int err = 0;

	t.highest = s->listener;
	FD_SET(s->listener, &t.readable);
	fcntl(s->listener, F_SETFL, O_NONBLOCK);
	while (!err) {
		fd_set readable = t.readable, writable = t.writable;

		if (select(t.highest + 1, &readable, &writable, NULL, NULL) < 0) {
			if (errno == EINTR)
				continue;
			return fail_serving(s, -errno, "select");
		}
		err = answer_all(&t, &writable);
		if (!err && FD_ISSET(s->listener, &readable))
			err = accept_all(s, SOCK_NONBLOCK, watch_by_select, &t,
					 "watch a descriptor of FD_SETSIZE or above");
	}
	return err;
}

/* Watches a connection; x is NULL for the listener. */
static int add_to_epoll(int epoll, int fd, struct exchange *x)
{
	struct epoll_event e = {.events = x ? EPOLLOUT : EPOLLIN, .data.ptr = x};

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

static int watch_by_epoll(struct exchange *x, void *epoll)
{
	return add_to_epoll(*(int *)epoll, x->fd, x);
}

static int handle_event(struct server *s, int epoll, struct exchange *x)
{
	int err;

	if (!x)
		return accept_all(s, SOCK_NONBLOCK, watch_by_epoll, &epoll, "watch a connection");
	err = answer_connection(x); /* closing the socket removes it from the set */
	if (err == -EAGAIN)
		return 0;
	free(x);
	return err;
}

/* Serves in one thread, with epoll for new and for writable connections. */
static int serve_by_epoll(struct server *s)
{
	struct epoll_event events[EVENTS];
	int epoll = epoll_create1(EPOLL_CLOEXEC), err, n;

	if (epoll < 0)
		return fail_serving(s, -errno, "epoll");
	fcntl(s->listener, F_SETFL, O_NONBLOCK);
	err = add_to_epoll(epoll, s->listener, NULL);
	while (!err) {
		n = epoll_wait(epoll, events, EVENTS, -1);
		if (n < 0 && errno != EINTR)
			err = fail_serving(s, -errno, "epoll");
		for (int i = 0; i < n && !err; i++)
			err = handle_event(s, epoll, events[i].data.ptr);
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

static void *run_model(void *arg)
{
	struct server *s = arg;

	s->model->serve(s);
	_exit(STATUS_FAILED); /* the model has recorded why it failed */
}

/*
 * Starts the model in a thread of its own, so that this thread notices the parent's end. Waits for
 * the request: counters are opened while the process has one thread.
 */
static void answer_request(struct request *q, void *server)
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

		while (child__answer(c->channel, answer_request, &s))
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
	return failure__set(f, STATUS_FAILED, err, "the server does not start: %m");
}
