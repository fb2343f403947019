// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/memory/memory.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_MS 10000

/*
 * perf runs the command cat, which reads the other end of `out`. When this process ends in any way,
 * cat reads the end of the stream and ends, and so does perf.
 */
struct perf_stat {
	pid_t pid;
	int control, out;
};

/* Makes the capabilities for counting ambient: exec would remove them for an ordinary user. */
static void hand_over_capabilities(void)
{
	static const cap_value_t wanted[] = {CAP_PERFMON, CAP_SYS_ADMIN};
	cap_flag_value_t on;
	cap_t caps = cap_get_proc();

	for (size_t i = 0; caps && i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (cap_get_flag(caps, wanted[i], CAP_PERMITTED, &on) || on != CAP_SET)
			continue;
		cap_set_flag(caps, CAP_INHERITABLE, 1, &wanted[i], CAP_SET);
		if (!cap_set_proc(caps))
			prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, wanted[i], 0, 0);
	}
	cap_free(caps);
}

static void exec_stat(const char *events, int control, int out)
{
	char controls[32];
	sigset_t none;

	control = dup(control); /* a copy without close-on-exec */
	if (control < 0 || dup2(out, STDIN_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0)
		_exit(127);
	snprintf(controls, sizeof(controls), "fd:%d,%d", control, control);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0); /* Ctrl-C must not reach perf */
	hand_over_capabilities();
	setenv("LC_ALL", "C", 1);
	execlp("perf", "perf", "stat", "-x;", "-a", "-D", "-1", "-e", events, "--control", controls,
	       "--log-fd", "2", "--", "cat", (char *)NULL);
	dprintf(STDERR_FILENO, "cannot run perf: %s\n", strerror(errno));
	_exit(127);
}

/* Reads until the end. Returns the text, to be freed; NULL: out of memory. */
static char *read_all(int fd)
{
	char *text = NULL, part[4096];
	size_t size;
	FILE *all = open_memstream(&text, &size);
	ssize_t n;

	while (all && (n = TEMP_FAILURE_RETRY(read(fd, part, sizeof(part)))) > 0)
		fwrite(part, 1, (size_t)n, all);
	if (all && !fclose(all))
		return text;
	free(text);
	return NULL;
}

int perf_stat__list(char **names)
{
	FILE *list = popen("perf list --raw-dump 2>/dev/null", "re");
	int status;

	if (!list)
		return -errno;
	*names = read_all(fileno(list));
	status = pclose(list);
	if (!status && *names)
		return 0;
	free(*names);
	*names = NULL;
	return WIFEXITED(status) && WEXITSTATUS(status) == 127 ? -ENOENT : -EIO;
}

static int fork_perf(struct perf_stat *p, const char *events)
{
	int control[2], out[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control))
		return -errno;
	p->control = control[0];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, out)) {
		close(control[1]);
		return -errno;
	}
	p->out = out[0];
	p->pid = fork();
	if (!p->pid)
		exec_stat(events, control[1], out[1]);
	close(control[1]);
	close(out[1]);
	return p->pid < 0 ? -errno : 0;
}

int perf_stat__count(struct perf_stat *p, int on)
{
	const char *word = on ? "enable\n" : "disable\n";
	struct pollfd answer = {.fd = p->control, .events = POLLIN};
	char text[16];
	int ready;

	if (send(p->control, word, strlen(word), MSG_NOSIGNAL) != (ssize_t)strlen(word))
		return -EPIPE;
	ready = TEMP_FAILURE_RETRY(poll(&answer, 1, ANSWER_MS));
	if (ready <= 0)
		return ready ? -errno : -ETIMEDOUT;
	return read(p->control, text, sizeof(text)) > 0 ? 0 : -EPIPE;
}

/* Returns whether this line of perf's output names a reason. */
static bool is_reason(const char *line)
{
	size_t length = strlen(line);

	return length && strncmp(line, "Error:", length) &&
	       strncmp(line, "Events disabled", length);
}

static void copy_reason(char *text, char *why, size_t room)
{
	char *line;

	while ((line = strsep(&text, "\n"))) {
		line += strspn(line, " \t");
		if (is_reason(line))
			break;
	}
	if (!line)
		return;
	snprintf(why, room, "perf: %s", line);
	for (size_t i = 0; why[i]; i++)
		if ((unsigned char)why[i] < ' ' || why[i] == 127)
			why[i] = ' ';
}

int perf_stat__start(struct perf_stat **out, const char *events, char *why, size_t room)
{
	struct perf_stat *p = calloc(1, sizeof(*p));
	char *text;
	int err;

	if (!p)
		return -ENOMEM;
	p->control = p->out = -1;
	err = fork_perf(p, events);
	if (!err)
		err = perf_stat__count(p, 0); /* perf replies once the events are open */
	if (!err) {
		*out = p;
		return 0;
	}
	snprintf(why, room, "perf stat: %s", strerror(-err));
	text = perf_stat__finish(p);
	copy_reason(text, why, room);
	free(text);
	return err;
}

char *perf_stat__finish(struct perf_stat *p)
{
	char *text = NULL;

	if (p->pid > 0) {
		shutdown(p->out, SHUT_WR);
		kill(p->pid, SIGINT); /* wakes perf, which may sleep for a second */
		text = read_all(p->out);
		waitpid(p->pid, NULL, 0);
	}
	if (p->control >= 0)
		close(p->control);
	if (p->out >= 0)
		close(p->out);
	free(p);
	return text;
}
