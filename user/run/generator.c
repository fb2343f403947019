// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/run/generator.h"

#include "user/system/child.h"
#include "user/system/files.h"
#include "user/system/privilege.h"

#include "loadgen/run/control.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_MS	  100
#define STOPPED_S 10
#define HEAD_SIZE offsetof(struct control_message, text)

struct generator {
	pid_t pid; /* 0 once it is reaped */
	int control;
	struct failure *failure;
	struct control_message message; /* the most recent message, sent or received */
};

/*
 * Executes the load generator, in the child. It has a process group of its own, so that Ctrl-C
 * reaches only the analyzer and the run ends in order. The kernel kills it if the analyzer dies.
 */
static void exec_child(char **arguments, int control, pid_t parent)
{
	sigset_t none;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || fcntl(control, F_SETFD, 0)) /* keep control open on exec */
		_exit(127);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	privilege__restore_limits();
	execv(arguments[0], arguments);
	_exit(127);
}

static int find_program(struct generator *g, char *path, size_t size)
{
	int err = files__find_part("loadgen/loadgen", path, size);

	if (err == -EACCES)
		failure__set(g->failure, STATUS_FAILED, err,
			     "user %d, who runs the load, may not read %s: put this program where "
			     "that user can read it",
			     (int)getuid(), path);
	else if (err)
		failure__set(g->failure, STATUS_FAILED, err,
			     "the load generator is missing: expected loadgen/loadgen beside this "
			     "program (run make)");
	return err;
}

static int fork_generator(struct generator *g, const struct load *load)
{
	struct load_arguments arguments = {};
	int ends[2], err;
	char path[PATH_MAX + 64];
	pid_t parent = getpid();

	err = find_program(g, path, sizeof(path));
	if (err)
		return err;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	g->control = ends[0];
	err = load_arguments__fill(&arguments, path, load, ends[1]);
	if (!err) {
		g->pid = fork();
		if (!g->pid)
			exec_child(arguments.values, ends[1], parent);
		err = g->pid < 0 ? -errno : 0;
	}
	if (err)
		g->pid = 0;
	close(ends[1]);
	load_arguments__free(&arguments);
	return err;
}

static int send_control(struct generator *g, enum control_type type)
{
	g->message.version = CONTROL_VERSION;
	g->message.type = (__u16)type;
	g->message.length = 0;
	if (send(g->control, &g->message, HEAD_SIZE, MSG_NOSIGNAL) < 0)
		return errno == EPIPE || errno == ECONNRESET ? -EPIPE : -errno;
	return 0;
}

static int gone(struct generator *g)
{
	int status = 0;

	if (g->pid && waitpid(g->pid, &status, 0) == g->pid)
		g->pid = 0;
	if (WIFSIGNALED(status))
		return failure__set(g->failure, STATUS_FAILED, -EPIPE,
				    "the load generator was killed by signal %d (%s)",
				    WTERMSIG(status), strsignal(WTERMSIG(status)));
	return failure__set(g->failure, STATUS_FAILED, -EPIPE,
			    "the load generator ended without a result (exit status %d)",
			    WEXITSTATUS(status));
}

static int receive_control(struct generator *g)
{
	struct control_message *m = &g->message;
	ssize_t size = recv(g->control, m, sizeof(*m), 0);

	if (size < 0)
		return errno == ECONNRESET ? gone(g) : -errno;
	if (!size)
		return gone(g);
	if ((size_t)size < HEAD_SIZE || m->length != size - HEAD_SIZE ||
	    m->version != CONTROL_VERSION)
		return failure__set(
			g->failure, STATUS_FAILED, -EPROTO,
			"the load generator is of another version: build both again (make)");
	if (m->type != CONTROL_ERROR)
		return 0;
	return failure__set(g->failure, m->status, -ECANCELED, "%.*s", (int)m->length, m->text);
}

/* Returns whether a signal has stopped the child for too long. */
static bool is_stopped(const struct generator *g, struct timespec *since)
{
	siginfo_t state = {};

	if (!g->pid || waitid(P_PID, (id_t)g->pid, &state, WSTOPPED | WNOHANG | WNOWAIT) ||
	    !state.si_pid) {
		clock_gettime(CLOCK_MONOTONIC, since);
		return false;
	}
	return elapsed_since(since) > STOPPED_S;
}

/*
 * Waits for a message of this type; sends STOP once if tick returns true. Before its HELLO the load
 * generator reads no message, because it may be waiting for a peer.
 */
static int await(struct generator *g, enum control_type type, generator_tick tick, generator_ms ms,
		 void *context)
{
	struct pollfd p = {.fd = g->control, .events = POLLIN};
	struct timespec running;
	bool stopped = false;
	int err;

	clock_gettime(CLOCK_MONOTONIC, &running);
	for (;;) {
		err = poll(&p, 1, ms ? ms(context, TICK_MS) : TICK_MS);
		if (err < 0 && errno != EINTR)
			return -errno;
		if (tick && tick(context) && !stopped) {
			if (type == CONTROL_HELLO) {
				kill(g->pid,
				     SIGKILL); /* the receiver ends with the load generator */
				return -EINTR;
			}
			stopped = true;
			send_control(g, CONTROL_STOP);
		}
		if (is_stopped(g, &running))
			return failure__set(g->failure, STATUS_FAILED, -ETIMEDOUT,
					    "the load generator was stopped by a signal for %d s",
					    STOPPED_S);
		if (err <= 0)
			continue;
		err = receive_control(g);
		if (err || g->message.type == type)
			return err;
		return failure__set(g->failure, STATUS_FAILED, -EPROTO,
				    "the load generator sent message %u instead of %u",
				    g->message.type, type);
	}
}

int generator__start(struct generator **out, const struct load *load, struct failure *f)
{
	struct generator *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	*out = g;
	g->control = -1;
	g->failure = f;
	return fork_generator(g, load);
}

int generator__greet(struct generator *g, generator_tick tick, void *context, pid_t *sender,
		     pid_t *receiver)
{
	int err = await(g, CONTROL_HELLO, tick, NULL, context);

	*sender = g->message.sender_pid;
	*receiver = g->message.receiver_pid;
	return err;
}

static int phase(struct generator *g, enum control_type request, enum control_type reply,
		 generator_tick tick, generator_ms ms, void *context)
{
	int err = send_control(g, request);

	/* The child may have ended and left a last message. */
	if (err && err != -EPIPE)
		return err;
	return await(g, reply, tick, ms, context);
}

int generator__connect(struct generator *g, generator_tick tick, void *context, unsigned int *port)
{
	int err = phase(g, CONTROL_START, CONTROL_PARKED, tick, NULL, context);

	*port = g->message.port;
	return err;
}

int generator__window(struct generator *g, generator_tick tick, generator_ms ms, void *context)
{
	return phase(g, CONTROL_GO, CONTROL_PARKED, tick, ms, context);
}

int generator__finish(struct generator *g, json_object **result)
{
	int err = phase(g, CONTROL_FINISH, CONTROL_RESULT, NULL, NULL, NULL);
	json_tokener *tokener;

	if (err)
		return err;
	tokener = json_tokener_new();
	if (!tokener)
		return -ENOMEM;
	*result = json_tokener_parse_ex(tokener, g->message.text, (int)g->message.length);
	json_tokener_free(tokener);
	return *result ? 0
		       : failure__set(g->failure, STATUS_FAILED, -EPROTO,
				      "the load generator's result is not JSON");
}

void generator__free(struct generator *g)
{
	if (!g)
		return;
	if (g->control >= 0)
		close(g->control);
	if (g->pid) /* the child ends at end of file */
		child__reap(g->pid);
	free(g);
}
