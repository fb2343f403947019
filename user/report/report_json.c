// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/report/report.h"

#include "common/program.h"
#include "user/system/files.h"
#include "user/system/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct json_file {
	const char *path;
	int fd; /* -1 until there is a record: no empty file is left behind */
};

static int cannot_write(const char *path, int err)
{
	log_error("--json: cannot write %s: %s", path, program__why(err));
	return err;
}

/* As a run that was killed while it wrote leaves it: what follows is a line of its own. */
static int end_half_a_line(int fd)
{
	char path[64], last = '\n';
	struct stat st;
	int readable;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_size)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	readable = open(path, O_RDONLY | O_CLOEXEC);
	if (readable < 0)
		return 0; /* a file that may be written only */
	if (pread(readable, &last, 1, st.st_size - 1) != 1)
		last = '\n';
	close(readable);
	return last == '\n' ? 0 : program__write_all(fd, "\n", 1);
}

static int add(void *state, json_object *record)
{
	struct json_file *f = state;
	bool fresh = f->fd < 0;
	struct stat st;
	int err;

	if (fresh)
		f->fd = program__open_output(f->path, O_APPEND | O_CREAT);
	err = f->fd < 0 ? f->fd : end_half_a_line(f->fd);
	if (!err)
		err = files__append_json(f->fd, f->path, record, false);
	if (!err)
		return 0;
	if (fresh && f->fd >= 0 && !fstat(f->fd, &st) && S_ISREG(st.st_mode) && !st.st_size)
		unlink(f->path);
	return cannot_write(f->path, err);
}

static int finish(void *state)
{
	struct json_file *f = state;
	int err = 0;

	if (f->fd > STDERR_FILENO && close(f->fd))
		err = cannot_write(f->path, -errno);
	free(f);
	return err;
}

static const struct reporter reporter = {add, finish};

int report_json__open(struct report *report, const char *path)
{
	struct json_file *f;
	int fd, err = program__reach_output(path, O_APPEND, &fd);

	if (err) {
		log_error("--json: cannot write %s: %s; name a file that can be written, or -",
			  path, program__why(err));
		return err;
	}
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	*f = (struct json_file){path, fd};
	report->reporter = &reporter;
	report->state = f;
	return 0;
}
