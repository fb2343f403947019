// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/system/child.h"

#include "user/system/privilege.h"
#include "user/system/signals.h"

#include "common/program.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAREWELL_MS 3000

/*
 * Waits, in the child, for a byte, then executes the command. The socket closes on exec: the parent
 * reads the end of the stream if exec worked, and otherwise the error.
 */
static void exec_command(int go, char *const *command)
{
	char word;
	int err;

	/* Before the exec, a handler would only note a signal: the command would miss it. */
	signals__release();
	privilege__restore_limits();
	if (read(go, &word, 1) != 1)
		_exit(127); /* the parent closed the socket or died */
	execvp(command[0], command);
	err = errno;
	if (write(go, &err, sizeof(err)) != sizeof(err))
		_exit(126);
	_exit(127);
}

int child__start(struct child *c, char *const *command)
{
	int ends[2], err;

	*c = (struct child){.pidfd = -1, .go = -1};
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	c->pid = fork();
	if (!c->pid) {
		close(ends[0]);
		exec_command(ends[1], command);
	}
	c->go = ends[0];
	if (c->pid > 0)
		c->pidfd = pidfd_open(c->pid, 0);
	err = c->pidfd < 0 ? -errno : 0;
	close(ends[1]);
	if (err)
		child__free(c);
	return err;
}

int child__run(struct child *c)
{
	int err = 0;
	ssize_t n;

	/* EPIPE: a signal has ended the child, as its status shows. */
	if (send(c->go, "g", 1, MSG_NOSIGNAL) != 1 && errno != EPIPE)
		return -errno;
	n = TEMP_FAILURE_RETRY(read(c->go, &err, sizeof(err)));
	close(c->go);
	c->go = -1;
	return n == sizeof(err) ? -err : 0;
}

bool child__ended(struct child *c)
{
	if (!c->ended && waitpid(c->pid, &c->status, WNOHANG) == c->pid)
		c->ended = true;
	return c->ended;
}

int child__exit_status(const struct child *c)
{
	return WIFSIGNALED(c->status) ? 128 + WTERMSIG(c->status) : WEXITSTATUS(c->status);
}

void child__end(struct child *c)
{
	kill(c->pid, SIGTERM);
	c->ending = true;
}

int child__reap(pid_t pid)
{
	struct pollfd p = {.fd = pidfd_open(pid, 0), .events = POLLIN};
	bool killed = p.fd < 0 || poll(&p, 1, FAREWELL_MS) != 1;
	int err = killed && kill(pid, SIGKILL) ? -errno : 0;

	if (p.fd >= 0)
		close(p.fd);
	if (!err)
		waitpid(pid, NULL, 0);
	return err ? err : killed;
}

/* Awaits the command's end. A signal to this process kills the command at once. */
static void await_ending(const struct child *c)
{
	int err;

	signals__end_too(c->pid);
	err = child__reap(c->pid);
	signals__end_too(0);
	if (err < 0)
		program__complain("the command still runs as process %d and cannot be ended: %s",
				  (int)c->pid, strerror(-err));
	else if (err)
		program__complain("the command did not end at SIGTERM and was killed");
}

void child__free(struct child *c)
{
	if (c->go >= 0) {
		close(c->go);
		if (c->pid > 0 && !c->ended)
			waitpid(c->pid, &c->status, 0);
	}
	if (c->ending && !child__ended(c))
		await_ending(c);
	if (c->pidfd >= 0)
		close(c->pidfd);
}
