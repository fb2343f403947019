/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The serving process as its parent sees it, and how it begins. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loadgen/load.h"
#include "loadgen/receive/listener.h"
#include "loadgen/serving/serve_ops.h"
#include "loadgen/serving/server.h"
#include "loadgen/system/cpus.h"
#include "loadgen/system/offspring.h"

#define TIME_TIMEOUT_MS	 1000
#define LEAVE_TIMEOUT_MS 1000

enum { BEGIN = '!', CPU_TIME = '?' };

struct serving {
	pid_t pid; /* 0 once it was reaped */
	int channel;
	struct server_shared *shared;
};

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
	pthread_t model;
	char question;

	while (read(channel, &question, 1) == 1) {
		struct cpu_time t = cpu_time__own();

		if (question == BEGIN && pthread_create(&model, NULL, run_model, s))
			_exit(STATUS_FAILED);
		if (write(channel, &t, sizeof(t)) != sizeof(t))
			break;
	}
	_exit(0);
}

static int allocate(struct serving **out, int pair[2])
{
	struct serving *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->shared = mmap(NULL, sizeof(*s->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	err = s->shared == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)
		      ? -errno
		      : 0;
	if (!err) {
		*out = s;
		return 0;
	}
	if (s->shared != MAP_FAILED)
		munmap(s->shared, sizeof(*s->shared));
	free(s);
	return err;
}

int serving__start(struct serving **out, struct listener *l, const struct load *load,
		   const struct cpus *cpus, struct failure *f)
{
	pid_t parent = getpid();
	struct serving *s;
	int pair[2], err;

	*out = NULL;
	err = allocate(&s, pair);
	if (err)
		return failure__set(f, STATUS_FAILED, err, "cannot start the server: %s",
				    strerror(-err));
	s->channel = pair[0];
	s->pid = fork();
	if (!s->pid) {
		struct server server = {
			.listener = l->fd,
			.ops = models__find(load->server_model),
			.connections = load->connections,
			.shared = s->shared,
		};

		offspring__settle(parent, pair[1], l->fd);
		if (cpus->split)
			sched_setaffinity(0, sizeof(cpus->sender), &cpus->sender);
		child(&server, pair[1]);
	}
	err = s->pid < 0 ? -errno : 0;
	close(pair[1]);
	listener__close(l);
	if (!err) {
		*out = s;
		return 0;
	}
	s->pid = 0;
	serving__stop(s);
	return failure__set(f, STATUS_FAILED, err, "cannot fork the server: %s", strerror(-err));
}

void serving__stop(struct serving *s)
{
	struct pollfd p;

	if (!s)
		return;
	if (s->pid) {
		shutdown(s->channel, SHUT_WR);
		p = (struct pollfd){.fd = s->channel};
		/* A stopped or stuck one hears no end of file. */
		if (poll(&p, 1, LEAVE_TIMEOUT_MS) <= 0)
			kill(s->pid, SIGKILL);
		waitpid(s->pid, NULL, 0);
	}
	close(s->channel);
	munmap(s->shared, sizeof(*s->shared));
	free(s);
}

pid_t serving__pid(const struct serving *s)
{
	return s->pid;
}

struct server_shared *serving__shared(struct serving *s)
{
	return s->shared;
}

int serving__fd(const struct serving *s)
{
	return s->channel;
}

static int ask(struct serving *s, char question, struct cpu_time *t)
{
	struct pollfd p = {.fd = s->channel, .events = POLLIN};
	int n;

	/* Not send(): who counts sends shall see the load alone. */
	if (write(s->channel, &question, 1) != 1)
		return -EPIPE;
	do
		n = poll(&p, 1, TIME_TIMEOUT_MS);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return -ETIMEDOUT;
	return read(s->channel, t, sizeof(*t)) == sizeof(*t) ? 0 : -EPIPE;
}

int serving__begin(struct serving *s, struct failure *f)
{
	struct cpu_time ignored;
	int err = ask(s, BEGIN, &ignored);

	if (err == -EPIPE)
		serving__died(s, f);
	return err ? failure__set(f, STATUS_FAILED, err, "the server does not begin: %s",
				  strerror(-err))
		   : 0;
}

int serving__cpu_time(struct serving *s, struct cpu_time *t)
{
	return ask(s, CPU_TIME, t);
}

void serving__died(struct serving *s, struct failure *f)
{
	int status;

	if (!s->pid || waitpid(s->pid, &status, 0) != s->pid)
		return;
	s->pid = 0;
	failure__adopt(f, &s->shared->failure);
	if (WIFSIGNALED(status))
		failure__set(f, STATUS_FAILED, -EPIPE,
			     "the server process died (signal %d) before the run was over",
			     WTERMSIG(status));
	else
		failure__set(f, STATUS_FAILED, -EPIPE,
			     "the server process ended (status %d) before the run was over",
			     WEXITSTATUS(status));
}
