// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/sweep/sweep_private.h"

#include "common/program.h"
#include "user/report/record_read.h"
#include "user/system/files.h"
#include "user/system/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PLAN "plan.json"

static int cannot(const struct sweep_folder *f, const char *do_what, const char *name, int err)
{
	log_error("--out %s: cannot %s %s: %s%s", f->dir, do_what, name, program__why(err),
		  err == -ENOSPC || err == -EDQUOT
			  ? "; free some space, then the same command goes on from here"
			  : "");
	return err;
}

static int open_folder(struct sweep_folder *f)
{
	if (mkdir(f->dir, 0777) && errno != EEXIST)
		return cannot(f, "make", "the folder", -errno);
	f->fd = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return f->fd < 0 ? cannot(f, "open", "the folder", -errno) : 0;
}

/*
 * Shards may begin at once on several machines: the first to link its file into place
 * has made the plan, and -EEXIST tells the others.
 */
static int write_plan(struct sweep_folder *f, json_object *written)
{
	char name[64];
	int fd, err;

	snprintf(name, sizeof(name), ".plan-%d-%lx", (int)getpid(), (long)time(NULL));
	fd = openat(f->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	err = files__append_json(fd, PLAN, written, true);
	close(fd);
	if (!err && linkat(f->fd, name, f->fd, PLAN, 0))
		err = -errno;
	unlinkat(f->fd, name, 0);
	return !err && fsync(f->fd) ? -errno : err;
}

static json_object *read_plan(struct sweep_folder *f, int *err)
{
	int fd = files__open_regular(f->fd, PLAN, O_RDONLY);
	json_object *written;

	*err = fd < 0 ? fd : 0;
	if (fd < 0)
		return NULL;
	written = json_object_from_fd(fd);
	close(fd);
	if (!written)
		*err = -EBADMSG;
	return written;
}

static int compare(struct sweep_folder *f, struct sweep_plan *p, json_object *older,
		   json_object *newer, bool order_given)
{
	char why[256];

	if (sweep_plan_file__same(older, newer, order_given, &p->seed, why, sizeof(why)))
		return 0;
	log_error("--out %s holds another plan: %s; name another folder, or repeat the command "
		  "that made it: %s",
		  f->dir, why, record__string(older, "/command"));
	return -EEXIST;
}

static int settle_plan(struct sweep_folder *f, struct sweep_plan *p, const struct options *o)
{
	json_object *written = sweep_plan_file__write(p, o), *older;
	int err;

	if (!written) {
		log_error("out of memory");
		return -ENOMEM;
	}
	older = read_plan(f, &err);
	if (err == -ENOENT) {
		err = write_plan(f, written);
		if (err == -EEXIST)
			older = read_plan(f, &err);
	}
	if (err == -EBADMSG)
		log_error("--out %s: its " PLAN " is no plan: name another folder, or put that "
			  "file aside",
			  f->dir);
	else if (err)
		cannot(f, "read or write", PLAN, err);
	else if (older)
		err = compare(f, p, older, written, o->sweep.order_given);
	json_object_put(older);
	json_object_put(written);
	return err;
}

static int open_runs(struct sweep_folder *f, const struct sweep_plan *p)
{
	char name[64] = "runs.jsonl";

	if (p->shards > 1)
		snprintf(name, sizeof(name), "runs-%u-of-%u.jsonl", p->shard, p->shards);
	snprintf(f->path, sizeof(f->path), "%.3900s/%s", f->dir, name);
	f->runs = files__open_regular(f->fd, name, O_RDWR | O_CREAT | O_APPEND);
	if (f->runs < 0)
		return cannot(f, "open", name, f->runs);
	if (flock(f->runs, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK)
			return cannot(f, "lock", name, -errno);
		log_error("--out %s: another sweep writes to it now: wait for its end, or name "
			  "another folder",
			  f->dir);
		return -EWOULDBLOCK;
	}
	return fsync(f->fd) ? cannot(f, "write", "the folder", -errno) : 0;
}

int sweep_folder__open(struct sweep_folder *f, struct sweep_plan *p, const struct options *o)
{
	int err;

	*f = (struct sweep_folder){.dir = o->sweep.out, .fd = -1, .runs = -1};
	err = open_folder(f);
	if (!err)
		err = settle_plan(f, p, o);
	return err ? err : open_runs(f, p);
}

/* NULL, with what is wrong in why, unless the line is whole and a sweep can have written it. */
static json_object *parse(const char *line, size_t size, char *why, size_t room)
{
	json_object *o = line[size - 1] == '\n' ? files__parse_json(line, size) : NULL;

	if (o && record__is_sound(o, why, room))
		return o;
	if (!o)
		snprintf(why, room, "no record");
	json_object_put(o);
	return NULL;
}

/* Moves the end of the file, from there on, to a file beside it. */
static int put_aside(struct sweep_folder *f, off_t from, const char *text, size_t size)
{
	char name[4096 + 16];
	int fd, err;

	snprintf(name, sizeof(name), "%s.half", f->path);
	fd = files__open_regular(AT_FDCWD, name, O_WRONLY | O_CREAT | O_APPEND);
	err = fd < 0 ? fd : program__write_all(fd, text, size);
	if (!err && (fsync(fd) || ftruncate(f->runs, from) || fsync(f->runs)))
		err = -errno;
	if (fd >= 0)
		close(fd);
	if (err)
		log_error("--out %s: cannot put the half-written end of %s aside as %s: %s", f->dir,
			  f->path, name, program__why(err));
	else
		log_error("%s ended in half a record: put aside as %s, its run is made again",
			  f->path, name);
	return err;
}

/* A last line that is none was being written when the sweep ended; any other was damaged. */
static int read_lines(struct sweep_folder *f, FILE *file, void (*take)(void *, json_object *),
		      void *context)
{
	unsigned long line;
	char *text = NULL, why[128];
	size_t room = 0;
	off_t begin = 0;
	ssize_t size;
	int err = 0;

	for (line = 1; !err && (size = getline(&text, &room, file)) > 0; line++) {
		json_object *record = parse(text, (size_t)size, why, sizeof(why));

		if (record)
			take(context, record);
		else if (text[size - 1] != '\n')
			err = put_aside(f, begin, text, (size_t)size);
		else
			log_error("%s, line %lu: %s: left as it is, its run is made again", f->path,
				  line, why);
		json_object_put(record);
		begin += size;
	}
	free(text);
	return ferror(file) ? -EIO : err;
}

int sweep_folder__read(struct sweep_folder *f, void (*take)(void *context, json_object *record),
		       void *context)
{
	int fd = fcntl(f->runs, F_DUPFD_CLOEXEC, 0);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	int err = file ? read_lines(f, file, take, context) : -errno;

	if (!file || ferror(file))
		log_error("%s cannot be read: %s", f->path, strerror(-err));
	if (file)
		fclose(file);
	return err;
}

int sweep_folder__add(struct sweep_folder *f, json_object *record)
{
	int err = files__append_json(f->runs, f->path, record, true);

	return err ? cannot(f, "write", f->path, err) : 0;
}

void sweep_folder__close(struct sweep_folder *f)
{
	if (f->runs >= 0)
		close(f->runs);
	if (f->fd >= 0)
		close(f->fd);
}
