// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/report/report.h"

#include "user/system/files.h"
#include "user/system/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct json_file {
	const char *path;
	int fd;
	bool fresh; /* made by us: goes again if nothing was written */
	bool written;
};

static int add(void *state, json_object *record)
{
	struct json_file *f = state;
	int err = files__append_json(f->fd, f->path, record, false);

	if (err)
		log_error("--json: cannot write %s: %s", f->path, strerror(-err));
	f->written = !err;
	return err;
}

static int finish(void *state)
{
	struct json_file *f = state;
	int err = 0;

	if (f->fd != STDOUT_FILENO) {
		if (f->fresh && !f->written)
			unlink(f->path);
		if (close(f->fd)) {
			err = -errno;
			log_error("--json: cannot write %s: %s", f->path, strerror(-err));
		}
	}
	free(f);
	return err;
}

static const struct reporter reporter = {add, finish};

int report_json__open(struct report *report, const char *path)
{
	struct json_file *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->path = path;
	f->fd = STDOUT_FILENO;
	if (strcmp(path, "-")) {
		f->fresh = access(path, F_OK) != 0;
		f->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	}
	if (f->fd < 0) {
		err = -errno;
		log_error("--json: cannot write %s: %s; name a file that can be written, or -",
			  path, strerror(-err));
		free(f);
		return err;
	}
	report->reporter = &reporter;
	report->state = f;
	return 0;
}
