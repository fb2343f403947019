// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/memory/perf_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PERF	  "perf"
#define ANSWER_MS 10000
#define TEXT_MAX  (8u << 20)

/*
 * perf's command is a cat that reads from us: it ends when we do, however that comes,
 * and perf with it.
 */
struct perf_stat {
	pid_t pid;
	int life, control, answers, out;
};

enum { CHILD_CONTROL = 3, CHILD_ANSWERS, CHILD_OUT };

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* What we may, as far as counting needs it: exec would take it from a user. */
static void hand_over_capabilities(void)
{
	static const cap_value_t wanted[] = {CAP_PERFMON, CAP_SYS_ADMIN};
	cap_flag_value_t on;
	cap_t caps = cap_get_proc();
	size_t i;

	for (i = 0; caps && i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (cap_get_flag(caps, wanted[i], CAP_PERMITTED, &on) || on != CAP_SET)
			continue;
		cap_set_flag(caps, CAP_INHERITABLE, 1, &wanted[i], CAP_SET);
		if (!cap_set_proc(caps))
			prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, wanted[i], 0, 0);
	}
	cap_free(caps);
}

static void quiet_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0); /* Ctrl-C is ours to hear */
}

/* Above the descriptors that dup2 will replace. */
static int lift(int fd)
{
	return fcntl(fd, F_DUPFD, 32);
}

static void exec_stat(const char *events, int life, int control, int answers, int out)
{
	char controls[32], log[16];

	snprintf(controls, sizeof(controls), "fd:%d,%d", CHILD_CONTROL, CHILD_ANSWERS);
	snprintf(log, sizeof(log), "%d", CHILD_OUT);
	life = lift(life);
	control = lift(control);
	answers = lift(answers);
	out = lift(out);
	if (dup2(life, STDIN_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0 ||
	    dup2(control, CHILD_CONTROL) < 0 || dup2(answers, CHILD_ANSWERS) < 0 ||
	    dup2(out, CHILD_OUT) < 0)
		_exit(127);
	close(life);
	close(control);
	close(answers);
	close(out);
	quiet_signals();
	hand_over_capabilities();
	setenv("LC_ALL", "C", 1);
	execlp(PERF, PERF, "stat", "-x;", "-a", "-D", "-1", "-e", events, "--control", controls,
	       "--log-fd", log, "--", "cat", (char *)NULL);
	dprintf(STDERR_FILENO, "cannot run perf: %s\n", strerror(errno));
	_exit(127);
}

/* All that comes until its end. NULL: out of memory, or nothing came. */
static char *read_all(int fd)
{
	size_t used = 0, room = 0;
	char *text = NULL, *grown;
	ssize_t n;

	for (;;) {
		if (room - used < 4096 && room < TEXT_MAX) {
			grown = realloc(text, room + 65536);
			if (!grown)
				break;
			text = grown;
			room += 65536;
		}
		n = read(fd, text + used, room - used - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		used += (size_t)n;
	}
	if (text)
		text[used] = 0;
	return text;
}

int perf_stat__list(char **names)
{
	int out[2], status, err = 0;
	pid_t pid;

	if (pipe2(out, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid) {
		int none = open("/dev/null", O_WRONLY);

		dup2(out[1], STDOUT_FILENO);
		dup2(none, STDERR_FILENO);
		quiet_signals();
		execlp(PERF, PERF, "list", "--raw-dump", (char *)NULL);
		_exit(errno == ENOENT ? 127 : 126);
	}
	if (pid < 0)
		err = -errno;
	close(out[1]);
	*names = err ? NULL : read_all(out[0]);
	close(out[0]);
	if (err || waitpid(pid, &status, 0) != pid)
		return err ? err : -ECHILD;
	if (WIFEXITED(status) && !WEXITSTATUS(status) && *names)
		return 0;
	free(*names);
	*names = NULL;
	return WIFEXITED(status) && WEXITSTATUS(status) == 127 ? -ENOENT : -EIO;
}

static int spawn(struct perf_stat *p, const char *events)
{
	int life[2] = {-1, -1}, control[2] = {-1, -1}, answers[2] = {-1, -1}, out[2] = {-1, -1};
	int err = 0;

	if (pipe2(life, O_CLOEXEC) || pipe2(control, O_CLOEXEC) || pipe2(answers, O_CLOEXEC) ||
	    pipe2(out, O_CLOEXEC))
		err = -errno;
	if (!err) {
		p->pid = fork();
		if (!p->pid)
			exec_stat(events, life[0], control[0], answers[1], out[1]);
		err = p->pid < 0 ? -errno : 0;
	}
	close_fd(&life[0]);
	close_fd(&control[0]);
	close_fd(&answers[1]);
	close_fd(&out[1]);
	p->life = life[1];
	p->control = control[1];
	p->answers = answers[0];
	p->out = out[0];
	return err;
}

/* Its answer ends with a newline and, in most versions, a zero. */
static int await_answer(struct perf_stat *p)
{
	struct pollfd answer = {.fd = p->answers, .events = POLLIN};
	char text[16];
	int ready;

	do {
		ready = poll(&answer, 1, ANSWER_MS);
	} while (ready < 0 && errno == EINTR);
	if (ready < 0)
		return -errno;
	if (!ready)
		return -ETIMEDOUT;
	return read(p->answers, text, sizeof(text)) > 0 ? 0 : -EPIPE;
}

static int send_command(struct perf_stat *p, const char *word)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
	ssize_t n;

	sigaction(SIGPIPE, &ignore, &before);
	n = write(p->control, word, strlen(word));
	sigaction(SIGPIPE, &before, NULL);
	return n == (ssize_t)strlen(word) ? await_answer(p) : -EPIPE;
}

int perf_stat__count(struct perf_stat *p, int on)
{
	return send_command(p, on ? "enable\n" : "disable\n");
}

/* Does this line say anything? */
static bool is_reason(const char *line, size_t length)
{
	return length && strncmp(line, "Error:", length) &&
	       strncmp(line, "Events disabled", length);
}

static void copy_reason(const char *text, char *why, size_t room)
{
	size_t length = 0, i;

	if (!text)
		return;
	do {
		text += length;
		text += strspn(text, " \n\t");
		length = strcspn(text, "\n");
	} while (*text && !is_reason(text, length));
	if (!*text)
		return;
	snprintf(why, room, "perf: %.*s", (int)length, text);
	for (i = 0; why[i]; i++)
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
	p->life = p->control = p->answers = p->out = -1;
	err = spawn(p, events);
	if (!err)
		err = perf_stat__count(p, 0); /* answered once the events are open */
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

	close_fd(&p->life);
	if (p->pid > 0) {
		kill(p->pid, SIGINT); /* so that it does not sleep its second out */
		text = read_all(p->out);
		waitpid(p->pid, NULL, 0);
	}
	close_fd(&p->control);
	close_fd(&p->answers);
	close_fd(&p->out);
	free(p);
	return text;
}
