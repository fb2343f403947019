/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <json-c/json.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loadgen/system/child.h"

#define TIME_TIMEOUT_MS	 1000
#define LEAVE_TIMEOUT_MS 1000

int raise_files(const char *who, unsigned int needed, const char *remedy, struct failure *f)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return failure__set(f, STATUS_FAILED, -errno,
				    "cannot read the limit of open files: %m");
	limit.rlim_cur = limit.rlim_max;
	if (limit.rlim_max >= needed && !setrlimit(RLIMIT_NOFILE, &limit))
		return 0;
	return failure__set(f, STATUS_FAILED, -EMFILE,
			    "%s needs %u open files, the limit is %llu: raise it (ulimit -Hn)%s",
			    who, needed, (unsigned long long)limit.rlim_max, remedy);
}

struct cpu_time cpu_time__own(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (struct cpu_time){
		.user_us = (uint64_t)(u.ru_utime.tv_sec * 1000000 + u.ru_utime.tv_usec),
		.system_us = (uint64_t)(u.ru_stime.tv_sec * 1000000 + u.ru_stime.tv_usec),
	};
}

void cpu_time__answer(struct request *q)
{
	struct cpu_time t = cpu_time__own();

	memcpy(q->values, &t, sizeof(t));
}

void cpus__split(struct cpus *c, const cpu_set_t *allowed)
{
	int count = CPU_COUNT(allowed), seen = 0;

	CPU_ZERO(&c->sender);
	CPU_ZERO(&c->receiver);
	c->split = count >= 2;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, allowed))
			CPU_SET(cpu, seen++ < count / 2 ? &c->sender : &c->receiver);
}

void cpus__plan(struct cpus *c)
{
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		CPU_ZERO(&allowed);
	cpus__split(c, &allowed);
}

struct json_object *cpus__json(const cpu_set_t *set)
{
	struct json_object *list = json_object_new_array();

	for (int cpu = 0; list && cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, set))
			json_object_array_add(list, json_object_new_int(cpu));
	return list;
}

/* Leaves signals of the terminal's process group to the parent. */
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

/* Closes inherited descriptors: a copy here would hide that the parent has closed its own. */
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
	/* Checks again: if the parent died before the prctl(), its signal would never come. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	close_all_but(channel, listener);
	if (cpus)
		sched_setaffinity(0, sizeof(*cpus), cpus);
}

int child__fork(struct child *c, const char *name, size_t shared_bytes, int listener,
		const cpu_set_t *cpus, struct failure *f)
{
	pid_t parent = getpid();
	int pair[2], err;

	*c = (struct child){.shared_bytes = shared_bytes};
	c->shared =
		mmap(NULL, shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (c->shared == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return failure__set(f, STATUS_FAILED, -errno, "cannot start the %s: %m", name);
	pthread_mutex_init(&c->asking, NULL);
	c->name = name;
	c->pid = fork();
	err = c->pid < 0 ? -errno : 0;
	c->channel = pair[c->pid == 0];
	close(pair[c->pid != 0]);
	if (!c->pid) {
		settle(parent, c->channel, listener, cpus);
		return 1;
	}
	if (!err)
		return 0;
	c->pid = 0;
	child__stop(c);
	return failure__set(f, STATUS_FAILED, err, "cannot fork the %s: %s", name, strerror(-err));
}

void child__stop(struct child *c)
{
	struct pollfd p = {.fd = c->channel};

	if (!c->name)
		return;
	if (c->pid) {
		shutdown(c->channel, SHUT_WR);
		/* A stopped or stuck process does not notice the end of file. */
		if (poll(&p, 1, LEAVE_TIMEOUT_MS) <= 0)
			kill(c->pid, SIGKILL);
		waitpid(c->pid, NULL, 0);
	}
	close(c->channel);
	pthread_mutex_destroy(&c->asking);
	munmap(c->shared, c->shared_bytes);
	c->name = NULL;
}

bool child__answer(int channel, void (*answer)(struct request *q, void *arg), void *arg)
{
	struct request q;
	ssize_t n = read(channel, &q, sizeof(q));

	if (n != sizeof(q))
		return n < 0 && errno == EINTR;
	answer(&q, arg);
	return write(channel, &q, sizeof(q)) == sizeof(q);
}

static int exchange_request(struct child *c, struct request *q, int timeout_ms)
{
	struct pollfd p = {.fd = c->channel, .events = POLLIN};
	uint32_t number = ++c->number;
	int n;

	q->number = number;
	/* Not send(): see control__send(). */
	if (write(c->channel, q, sizeof(*q)) != sizeof(*q))
		return -EPIPE;
	do {
		n = TEMP_FAILURE_RETRY(poll(&p, 1, timeout_ms));
		if (n <= 0)
			return -ETIMEDOUT;
		if (read(c->channel, q, sizeof(*q)) != sizeof(*q))
			return -EPIPE;
	} while (q->number != number);
	return q->err;
}

int child__request(struct child *c, struct request *q, int timeout_ms)
{
	int err;

	pthread_mutex_lock(&c->asking);
	err = c->silent ? -ETIMEDOUT : exchange_request(c, q, timeout_ms);
	pthread_mutex_unlock(&c->asking);
	return err;
}

bool child__is_stopped(const struct child *c)
{
	siginfo_t state = {0};

	return c->pid && !waitid(P_PID, (id_t)c->pid, &state, WSTOPPED | WNOHANG | WNOWAIT) &&
	       state.si_pid;
}

int child__cpu_time(struct child *c, struct cpu_time *t)
{
	struct request q = {.type = REQUEST_CPU_TIME};
	int err = child__request(c, &q, TIME_TIMEOUT_MS);

	memcpy(t, q.values, sizeof(*t));
	return err;
}

void child__explain_death(struct child *c, struct failure *f)
{
	int status;

	if (!c->pid || waitpid(c->pid, &status, 0) != c->pid)
		return;
	c->pid = 0;
	failure__adopt(f, c->shared);
	failure__set(f, STATUS_FAILED, -EPIPE, "the %s process %s %d) before the run was over",
		     c->name, WIFSIGNALED(status) ? "died (signal" : "ended (status",
		     WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}
