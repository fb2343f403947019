/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loadgen/system/offspring.h"

#define TIME_TIMEOUT_MS	 1000
#define LEAVE_TIMEOUT_MS 1000

struct cpu_time cpu_time__own(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (struct cpu_time){
		.user_s = (double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec / 1e6,
		.system_s = (double)u.ru_stime.tv_sec + (double)u.ru_stime.tv_usec / 1e6,
	};
}

/* Signals of the terminal's group are the parent's to act upon. */
static void settle_signals(void)
{
	sigset_t none;

	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* What the parent holds open must not stay open here, or its end would not show. */
static void close_all_but(int a, int b)
{
	unsigned int low = (unsigned int)(a < b ? a : b), high = (unsigned int)(a < b ? b : a);

	if (low > 3)
		close_range(3, low - 1, 0);
	if (high > low + 1)
		close_range(low + 1, high - 1, 0);
	close_range(high + 1, ~0u, 0);
}

static void settle(pid_t parent, int channel, int listener, const cpu_set_t *cpus)
{
	settle_signals();
	/* After the parent died, the signal would never come: hence the second look. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	close_all_but(channel, listener);
	if (cpus)
		sched_setaffinity(0, sizeof(*cpus), cpus);
}

int offspring__fork(struct offspring *o, const char *name, size_t shared_bytes, int listener,
		    const cpu_set_t *cpus, struct failure *f)
{
	pid_t parent = getpid();
	int pair[2], err;

	*o = (struct offspring){.shared_bytes = shared_bytes};
	o->shared =
		mmap(NULL, shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (o->shared == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return failure__set(f, STATUS_FAILED, -errno, "cannot start the %s: %m", name);
	pthread_mutex_init(&o->asking, NULL);
	o->name = name;
	o->pid = fork();
	err = o->pid < 0 ? -errno : 0;
	o->channel = pair[o->pid == 0];
	close(pair[o->pid != 0]);
	if (!o->pid) {
		settle(parent, o->channel, listener, cpus);
		return 1;
	}
	if (!err)
		return 0;
	o->pid = 0;
	offspring__stop(o);
	return failure__set(f, STATUS_FAILED, err, "cannot fork the %s: %s", name, strerror(-err));
}

void offspring__stop(struct offspring *o)
{
	struct pollfd p = {.fd = o->channel};

	if (!o->name)
		return;
	if (o->pid) {
		shutdown(o->channel, SHUT_WR);
		/* A stopped or stuck one hears no end of file. */
		if (poll(&p, 1, LEAVE_TIMEOUT_MS) <= 0)
			kill(o->pid, SIGKILL);
		waitpid(o->pid, NULL, 0);
	}
	close(o->channel);
	pthread_mutex_destroy(&o->asking);
	munmap(o->shared, o->shared_bytes);
	o->name = NULL;
}

static int converse(struct offspring *o, struct request *q, struct reply *reply, int timeout_ms)
{
	struct pollfd p = {.fd = o->channel, .events = POLLIN};
	int n;

	q->number = ++o->number;
	/* Not send(): who counts this process's sends shall see the load alone. */
	if (write(o->channel, q, sizeof(*q)) != sizeof(*q))
		return -EPIPE;
	do {
		do
			n = poll(&p, 1, timeout_ms);
		while (n < 0 && errno == EINTR);
		if (n <= 0)
			return -ETIMEDOUT;
		if (read(o->channel, reply, sizeof(*reply)) != sizeof(*reply))
			return -EPIPE;
	} while (reply->number != q->number);
	return reply->err;
}

int offspring__ask(struct offspring *o, struct request *q, struct reply *reply, int timeout_ms)
{
	int err;

	pthread_mutex_lock(&o->asking);
	err = converse(o, q, reply, timeout_ms);
	pthread_mutex_unlock(&o->asking);
	return err;
}

int offspring__cpu_time(struct offspring *o, struct cpu_time *t)
{
	struct request q = {.type = REQUEST_CPU_TIME};
	struct reply reply;
	int err = offspring__ask(o, &q, &reply, TIME_TIMEOUT_MS);

	if (!err)
		*t = reply.time;
	return err;
}

void offspring__died(struct offspring *o, struct failure *f)
{
	int status;

	if (!o->pid || waitpid(o->pid, &status, 0) != o->pid)
		return;
	o->pid = 0;
	failure__adopt(f, o->shared);
	failure__set(f, STATUS_FAILED, -EPIPE, "the %s process %s %d) before the run was over",
		     o->name, WIFSIGNALED(status) ? "died (signal" : "ended (status",
		     WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}
