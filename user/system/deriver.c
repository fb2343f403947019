// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/system/deriver.h"

#include "user/system/files.h"
#include "user/system/log.h"
#include "user/system/privilege.h"

#include "common/program.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SCRIPT "analysis/derive/__main__.py"

struct deriver {
	pid_t pid;
	int fd; /* written: raw lines; read: records */
};

/* A terminal's signals go to all processes of its group: this one ends with its input. */
static void become(int end, const char *script)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	char reason[256];
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], SIG_IGN);
	if (privilege__drop_all(reason, sizeof(reason)) || dup2(end, STDIN_FILENO) < 0 ||
	    dup2(end, STDOUT_FILENO) < 0)
		_exit(STATUS_FAILED);
	execl(SYSTEM_PYTHON, SYSTEM_PYTHON, "-I", "-B", "-S", script, NULL);
	_exit(STATUS_SYSTEM);
}

static int start(struct deriver *d, const char *script)
{
	int ends[2], err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	d->pid = fork();
	if (!d->pid)
		become(ends[1], script);
	err = d->pid < 0 ? -errno : 0;
	close(ends[1]);
	d->fd = ends[0];
	return err;
}

int deriver__start(struct deriver **out, char *reason, size_t size)
{
	struct deriver *d = calloc(1, sizeof(*d));
	char script[PATH_MAX];
	int err = d ? files__find_part(SCRIPT, script, sizeof(script)) : -ENOMEM;

	if (err == -ENOENT || err == -EACCES)
		snprintf(reason, size, PART_MISSING, SCRIPT);
	else if (!err && access(SYSTEM_PYTHON, X_OK)) {
		err = -ENOENT;
		snprintf(reason, size, SYSTEM_PYTHON " is missing: install python3");
	}
	if (!err)
		err = start(d, script);
	if (err)
		deriver__free(d);
	else
		*out = d;
	return err;
}

#define ROOM_STEP (64u << 10)

/*
 * Reads its answer, which is one line; a signal that comes meanwhile is for others to look at.
 * NULL: it has gone, or what it wrote is no record.
 */
static json_object *answer(struct deriver *d)
{
	size_t size = 0, room = 0;
	char *line = NULL, *grown;
	json_object *record;
	ssize_t n;

	do {
		if (size == room) {
			grown = realloc(line, room += ROOM_STEP);
			if (!grown)
				break;
			line = grown;
		}
		do
			n = read(d->fd, line + size, room - size);
		while (n < 0 && errno == EINTR);
		size += n > 0 ? (size_t)n : 0;
	} while (n > 0 && line[size - 1] != '\n');
	record = size ? files__parse_json(line, size) : NULL;
	free(line);
	return record;
}

/* 0 or -errno; no SIGPIPE, if the process has gone. */
static int send_all(int fd, const char *text, size_t size)
{
	ssize_t sent;

	for (; size; text += sent, size -= (size_t)sent) {
		do
			sent = send(fd, text, size, MSG_NOSIGNAL);
		while (sent < 0 && errno == EINTR);
		if (sent < 0)
			return -errno;
	}
	return 0;
}

json_object *deriver__record(struct deriver *d, char *line)
{
	int err = line ? send_all(d->fd, line, strlen(line)) : -ENOMEM;
	json_object *record = err ? NULL : answer(d);

	free(line);
	if (!record)
		log_error("the run's record cannot be made: %s",
			  err ? program__why(err) : SYSTEM_PYTHON " ended without an answer");
	return record;
}

void deriver__free(struct deriver *d)
{
	if (!d)
		return;
	/* A command that was not let run has the socket, too. */
	if (d->fd > 0) {
		shutdown(d->fd, SHUT_RDWR);
		close(d->fd);
	}
	if (d->pid > 0)
		while (waitpid(d->pid, NULL, 0) < 0 && errno == EINTR)
			;
	free(d);
}
