/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * daemon STATUS COMMAND [ARG...]: forks twice and ends with the status. The grandchild waits until
 * it has another parent, and then executes the command.
 */
#include "common.h"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t forked(void)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	return pid;
}

int main(int argc, char **argv)
{
	struct pollfd first = {.events = POLLIN};
	pid_t child;

	if (argc < 3) {
		fputs("usage: daemon STATUS COMMAND [ARG...]\n", stderr);
		return 2;
	}
	first.fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (first.fd < 0)
		die("pidfd_open");
	child = forked();
	if (child) {
		if (waitpid(child, NULL, 0) != child)
			die("waitpid");
		return atoi(argv[1]);
	}
	if (setsid() < 0)
		die("setsid");
	if (forked())
		return 0;
	while (poll(&first, 1, -1) != 1)
		;
	close(first.fd);
	execvp(argv[2], argv + 2);
	die(argv[2]);
	return 1;
}
