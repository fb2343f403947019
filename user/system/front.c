// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/system/front.h"

#include "user/system/files.h"
#include "user/system/privilege.h"
#include "user/system/signals.h"

#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <linux/sockios.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SCRIPT	    "analysis/__main__.py"
#define CHANNEL	    3		/* the front's descriptor */
#define REQUEST_MAX (64u << 10) /* longest line from the front */
#define DEPTH_MAX   4		/* of objects in a line */

struct front {
	pid_t pid; /* 0: it has ended */
	int status;
	int fd;
	size_t received; /* bytes of an incomplete line */
	char line[REQUEST_MAX];
};

/*
 * Fails if other users may write to the file. Root may run files of root, of the user who called
 * sudo, and of the owner of this program. A group with the number of the file's owner is assumed to
 * have this one member.
 */
static int check_file(const char *path, const struct stat *st, uid_t program, struct failure *f)
{
	bool known = !st->st_uid || st->st_uid == privilege__caller() || st->st_uid == program;
	bool others = st->st_mode & S_IWOTH ||
		      (st->st_mode & S_IWGRP && st->st_gid && st->st_gid != st->st_uid);

	if (S_ISLNK(st->st_mode) || (known && !others))
		return 0;
	return failure__set(
		f, STATUS_SYSTEM, -EPERM,
		"%s: other users may write to it, so root does not run it: chmod go-w, or "
		"install the program",
		path);
}

/*
 * Checks all files of the front, except the libraries of reports, and the folder above: users who
 * may write to it could replace them.
 */
static int check_files(char *analysis, struct failure *f)
{
	FTS *fts = fts_open((char *[]){analysis, NULL}, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	char above[PATH_MAX + 4];
	struct stat program, st;
	FTSENT *entry;
	int err = !fts || stat("/proc/self/exe", &program) ? -errno : 0;

	while (!err && (entry = fts_read(fts))) {
		if (!strcmp(entry->fts_name, ".venv"))
			fts_set(fts, entry, FTS_SKIP);
		else if (entry->fts_info != FTS_DP)
			err = check_file(entry->fts_path, entry->fts_statp, program.st_uid, f);
	}
	if (fts)
		fts_close(fts);
	snprintf(above, sizeof(above), "%s/..", analysis);
	if (!err && stat(above, &st))
		err = -errno;
	return err ? err : check_file(above, &st, program.st_uid, f);
}

/* Keeps only the standard streams and the front's end of the socket. */
static int keep_descriptors(int end)
{
	int in = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (in < 0 || dup2(in, STDIN_FILENO) < 0)
		return -errno;
	if (end == CHANNEL ? fcntl(end, F_SETFD, 0) : dup2(end, CHANNEL) < 0)
		return -errno;
	return close_range(CHANNEL + 1, ~0U, 0) ? -errno : 0;
}

/*
 * Executes the front, in the child. It ignores the signals that a terminal sends to its whole
 * process group until the runs are made.
 */
static void exec_front(int end, const char *script)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct failure unseen = {};

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], SIG_IGN);
	if (privilege__become_user(&unseen) || privilege__drop_all(&unseen) ||
	    keep_descriptors(end))
		_exit(STATUS_FAILED);
	/* -X utf8: the front reads and writes UTF-8 in every locale. */
	execl(SYSTEM_PYTHON, SYSTEM_PYTHON, "-I", "-B", "-S", "-X", "utf8", script, "front",
	      program_invocation_short_name, NULL);
	_exit(STATUS_SYSTEM);
}

static int start(struct front *f, const char *script)
{
	int ends[2], err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	f->fd = ends[0];
	f->pid = fork();
	err = f->pid < 0 ? -errno : 0;
	if (!f->pid)
		exec_front(ends[1], script);
	close(ends[1]);
	if (!err)
		signals__end_too(f->pid);
	return err;
}

int front__check(struct failure *f)
{
	char script[PATH_MAX], folder[PATH_MAX];
	int err = geteuid() ? 0 : files__find_part(SCRIPT, script, sizeof(script));

	if (geteuid() || err)
		return err;
	if (!realpath(script, folder))
		return -errno;
	*strrchr(folder, '/') = 0;
	return check_files(folder, f);
}

int front__start(struct front **out, struct failure *failure)
{
	struct front *f = calloc(1, sizeof(*f));
	char script[PATH_MAX];
	int err = f ? files__find_part(SCRIPT, script, sizeof(script)) : -ENOMEM;

	if (err == -ENOENT || err == -EACCES)
		failure__set(failure, STATUS_SYSTEM, err, PART_MISSING, SCRIPT);
	else if (!err && access(SYSTEM_PYTHON, X_OK))
		err = failure__set(failure, STATUS_SYSTEM, -ENOENT,
				   SYSTEM_PYTHON
				   " is missing: install python3, or print raw lines with --raw");
	if (!err)
		err = front__check(failure);
	if (!err)
		err = start(f, script);
	if (err)
		front__free(f);
	else
		*out = f;
	return failure__set(failure, STATUS_SYSTEM, err, "the front cannot be started: %m");
}

/* Sends all bytes. 0 or -errno, without SIGPIPE if the front has ended. */
static int send_bytes(int fd, const char *text, size_t size)
{
	ssize_t sent;

	for (; size; text += sent, size -= (size_t)sent) {
		sent = TEMP_FAILURE_RETRY(send(fd, text, size, MSG_NOSIGNAL));
		if (sent < 0)
			return -errno;
	}
	return 0;
}

int front__send(struct front *f, char *line)
{
	int err = line ? send_bytes(f->fd, line, strlen(line)) : -ENOMEM;

	free(line);
	return err;
}

/* If the front has read everything, the socket's buffer has room for a line of this size. */
bool front__offer(struct front *f, char *line)
{
	size_t size = line ? strlen(line) : 0;
	int unread = 1;
	bool sent = size && size <= FRONT_OFFER_MAX && !ioctl(f->fd, SIOCOUTQ, &unread) &&
		    !unread &&
		    send(f->fd, line, size, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size;

	free(line);
	return sent;
}

json_object *front__parse(const char *line, size_t size)
{
	json_tokener *tokener = json_tokener_new_ex(DEPTH_MAX);
	json_object *o = tokener ? json_tokener_parse_ex(tokener, line, (int)size) : NULL;

	if (tokener)
		json_tokener_free(tokener);
	if (json_object_is_type(o, json_type_object))
		return o;
	json_object_put(o);
	return NULL;
}

json_object *front__receive(struct front *f, int *err)
{
	json_object *o;
	ssize_t n;
	char *end;

	while (!(end = memchr(f->line, '\n', f->received))) {
		*err = -EBADMSG;
		if (f->received == sizeof(f->line))
			return NULL;
		n = TEMP_FAILURE_RETRY(
			read(f->fd, f->line + f->received, sizeof(f->line) - f->received));
		*err = n < 0 ? -errno : -EPIPE;
		if (n <= 0)
			return NULL;
		f->received += (size_t)n;
	}
	o = front__parse(f->line, (size_t)(end - f->line));
	*err = o ? 0 : -EBADMSG;
	f->received -= (size_t)(++end - f->line);
	memmove(f->line, end, f->received);
	return o;
}

/* Returns the events of the channel: input, or its end. */
static short state_of(const struct front *f)
{
	struct pollfd end = {.fd = f->fd, .events = POLLIN | POLLRDHUP};

	return poll(&end, 1, 0) > 0 ? end.revents : 0;
}

bool front__has_request(const struct front *f)
{
	return f->received || state_of(f) & POLLIN;
}

bool front__is_gone(const struct front *f)
{
	return state_of(f) & (POLLRDHUP | POLLHUP | POLLERR);
}

/*
 * Awaits the front's end. A signal to this process is sent to the front: at once, or again after a
 * moment if the signal came before the report began, when the front still ignored signals.
 */
static void await_end(const struct front *f, bool signal_reported)
{
	struct timespec moment = {.tv_nsec = 500 * 1000000};
	struct pollfd end = {.fd = pidfd_open(f->pid, 0), .events = POLLIN};
	bool waits_a_moment;
	sigset_t all, before;

	if (end.fd < 0)
		return;
	/* Blocked, because a signal could come between the check and the wait. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	waits_a_moment = signals__caught() && !signal_reported;
	while (ppoll(&end, 1, waits_a_moment ? &moment : NULL, &before) <= 0)
		if (signals__caught() && !signal_reported) {
			kill(f->pid, signals__caught());
			waits_a_moment = true;
		}
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(end.fd);
}

int front__end(struct front *f, bool signal_reported)
{
	int status = 0;

	/* A command that was not started also has the socket open. */
	shutdown(f->fd, SHUT_RDWR);
	if (f->pid)
		await_end(f, signal_reported);
	while (f->pid && waitpid(f->pid, &status, 0) < 0 && errno == EINTR)
		kill(f->pid, signals__caught());
	signals__end_too(0);
	if (f->pid)
		f->status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
	f->pid = 0;
	return f->status;
}

void front__free(struct front *f)
{
	if (!f)
		return;
	if (f->pid > 0)
		front__end(f, false);
	if (f->fd > 0)
		close(f->fd);
	free(f);
}
