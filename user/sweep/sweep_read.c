// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What an earlier sweep left: its records, and perhaps half of one. */
#include "user/sweep/sweep_private.h"

#include "user/system/log.h"

#include "common/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A line that is no JSON object gives NULL. */
static json_object *parse(const char *line, size_t length)
{
	json_tokener *tokener = json_tokener_new();
	json_object *o;

	if (!tokener)
		return NULL;
	o = json_tokener_parse_ex(tokener, line, (int)length);
	if (json_tokener_get_error(tokener) != json_tokener_success ||
	    !json_object_is_type(o, json_type_object)) {
		json_object_put(o);
		o = NULL;
	}
	json_tokener_free(tokener);
	return o;
}

/* Moves the end of the file, from there on, to a file beside it. */
static int put_aside(struct sweep_folder *f, off_t from, const char *text, size_t size)
{
	char name[4096 + 16];
	int fd, err;

	snprintf(name, sizeof(name), "%s.half", f->path);
	fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		err = -errno;
	else
		err = program__write_all(fd, text, size);
	if (!err && fsync(fd))
		err = -errno;
	if (fd >= 0)
		close(fd);
	if (!err && (ftruncate(f->runs, from) || fsync(f->runs)))
		err = -errno;
	if (err)
		log_error("--out %s: cannot put the half-written end of %s aside: %s", f->dir,
			  f->path, strerror(-err));
	else
		log_error("%s ended in half a record: put aside as %s, its run is made again",
			  f->path, name);
	return err;
}

struct reading {
	struct sweep_folder *f;
	FILE *file;
	off_t begin; /* of the line at hand */
	unsigned long line;
};

/* A last line that is none was being written when the sweep ended; any other was damaged. */
static int take_broken(struct reading *r, const char *text, size_t size)
{
	int next = getc(r->file);

	if (next == EOF)
		return put_aside(r->f, r->begin, text, size);
	ungetc(next, r->file);
	log_error("%s, line %lu: no record: left as it is, its run is made again", r->f->path,
		  r->line);
	return 0;
}

static int read_lines(struct reading *r, void (*take)(void *, json_object *), void *context)
{
	char *text = NULL;
	size_t room = 0;
	ssize_t size;
	int err = 0;

	while (!err && (size = getline(&text, &room, r->file)) > 0) {
		json_object *record = NULL;

		r->line++;
		if (text[size - 1] == '\n')
			record = parse(text, (size_t)size - 1);
		if (record)
			take(context, record);
		else
			err = take_broken(r, text, (size_t)size);
		json_object_put(record);
		r->begin += size;
	}
	if (!err && ferror(r->file)) {
		err = -EIO;
		log_error("%s cannot be read: %s", r->f->path, strerror(EIO));
	}
	free(text);
	return err;
}

int sweep_folder__read(struct sweep_folder *f, void (*take)(void *context, json_object *record),
		       void *context)
{
	struct reading r = {.f = f};
	int fd = fcntl(f->runs, F_DUPFD_CLOEXEC, 0), err;

	r.file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!r.file || lseek(fd, 0, SEEK_SET)) {
		err = -errno;
		log_error("%s cannot be read: %s", f->path, strerror(-err));
		if (fd >= 0 && !r.file)
			close(fd);
	} else {
		err = read_lines(&r, take, context);
	}
	if (r.file)
		fclose(r.file);
	return err;
}
