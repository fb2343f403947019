// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/exporter/exporter.h"

#include "user/system/files.h"
#include "user/system/signals.h"

#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define TICK_MS	  200 /* interval of checks for signals and slow clients */
#define FILE_NAME "sendpath.prom"
#define FILE_NEXT ".sendpath.prom.next" /* the collector reads *.prom */

static struct exporter exporter;

static uint64_t resident_bytes(void)
{
	unsigned long pages = 0;
	char line[128];

	if (files__first_line("/proc/self/statm", line, sizeof(line)))
		sscanf(line, "%*u %lu", &pages);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

char *exporter__text(bool open_metrics)
{
	struct exporter *x = &exporter;
	struct timespec begun;
	char *text = NULL;
	int err;

	clock_gettime(CLOCK_MONOTONIC, &begun);
	/*
	 * The groups are read before the totals: sends that are counted in between are missing in
	 * the parts, not in the whole.
	 */
	err = x->processes.top ? processes__read(&x->processes, x->tracer) : 0;
	if (!err)
		err = tracer__read(x->tracer, &x->result.counts, ALL_COUNTS);
	x->reading_ns = (__u64)(elapsed_since(&begun) * 1e9);
	x->cpu_ns = (__u64)clock() * (1000000000 / CLOCKS_PER_SEC);
	x->resident_bytes = resident_bytes();
	x->map_bytes = tracer__map_bytes(x->tracer);
	x->started_ns =
		(__u64)x->result.started.tv_sec * 1000000000 + (__u64)x->result.started.tv_nsec;
	if (!err && exposition__begin(&x->exposition, open_metrics)) {
		metrics__write(x);
		text = exposition__end(&x->exposition);
	}
	if (!text)
		program__complain("the counts in the kernel cannot be read: %s",
				  strerror(err ? -err : ENOMEM));
	return text;
}

/* Replaces the file atomically. 0 or -errno. */
static int replace_file(int folder, const char *text)
{
	int fd, err;

	/* An existing file may belong to another user, so it is replaced, not written to. */
	if (unlinkat(folder, FILE_NEXT, 0) && errno != ENOENT)
		return -errno;
	fd = openat(folder, FILE_NEXT, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	err = program__write_all(fd, text, strlen(text));
	/* Readable whatever the umask is: the collector runs as another user. */
	if ((fchmod(fd, 0644) | close(fd)) && !err)
		err = -errno;
	if (!err && renameat(folder, FILE_NEXT, folder, FILE_NAME))
		err = -errno;
	if (err)
		unlinkat(folder, FILE_NEXT, 0);
	return err;
}

/* Writes the text file. A failure may be temporary, such as a full disk, and is reported once. */
static void write_file(struct exporter *x)
{
	char *text = exporter__text(false);
	int err = text ? replace_file(x->folder, text) : 0;

	if (err && !x->failed)
		program__complain("--textfile: sendpath.prom cannot be written: %s",
				  strerror(-err));
	if (text)
		x->failed = err;
	free(text);
}

/* Opens the server, or the text file's folder and timer. Returns false after an error line. */
static bool open_destination(struct exporter *x, const char *textfile, double interval)
{
	const struct itimerspec due = {.it_value.tv_nsec = 1,
				       .it_interval.tv_sec = (time_t)interval,
				       .it_interval.tv_nsec = (long)(fmod(interval, 1) * 1e9)};

	if (!textfile)
		return server__open(x->options);
	x->folder = open(textfile, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* Other errors of flock() mean that the file system has no locks. */
	if (x->folder >= 0 && flock(x->folder, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return program__fail(false, "--textfile %.200s: another exporter writes there",
				     textfile);
	if (x->folder >= 0 && !faccessat(x->folder, ".", W_OK, AT_EACCESS))
		x->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (x->timer >= 0 && !timerfd_settime(x->timer, 0, &due, NULL))
		return true;
	return program__fail(false, "--textfile %.200s: %s", textfile, strerror(errno));
}

static void export_until_signal(struct exporter *x)
{
	struct pollfd due = {.fd = x->timer, .events = POLLIN};
	char name[ADDRESS_NAME];
	uint64_t times;

	if (x->timer < 0) {
		server__name(name);
		program__complain("metrics at http://%s/metrics", name);
	}
	while (!signals__caught()) {
		if (x->timer < 0)
			server__run(TICK_MS);
		else if (poll(&due, 1, TICK_MS) > 0 && read(x->timer, &times, sizeof(times)) > 0)
			write_file(x);
	}
}

int exporter__run(const struct options *o, const struct measurement *setup, const struct host *host)
{
	struct exporter *x = &exporter;
	struct measurement observation = *setup;
	int err;

	x->folder = x->timer = -1;
	x->options = &o->exporter;
	x->processes.top = o->top;
	x->processes.room = o->by_max;
	x->processes.by_cgroup = o->by & BY_CGROUP && groups__has_cgroup2();
	x->kernel = host->names.release;
	x->cost = setup->tracing.cost;
	observation.last = true;
	observation.tracing.by = o->top ? BY_PROCESS | o->by : 0;
	/* A window without end would have too many receivers. */
	observation.tracing.receivers = false;
	if (o->by & BY_CGROUP && !x->processes.by_cgroup)
		program__complain("--by cgroup: no control groups of version 2 are mounted here, "
				  "so the label is empty");
	signals__catch();
	signal(SIGPIPE, SIG_IGN); /* a closed connection is no error */
	if (!open_destination(x, o->exporter.textfile, o->interval))
		return STATUS_FAILED;
	err = run__open_observation(&x->result, &observation, &x->tracer);
	if (err)
		program__complain("%s", x->result.failure.text);
	else
		export_until_signal(x);
	server__close();
	/* A file that stays would look as if the exporter still measured. */
	if (x->folder >= 0)
		unlinkat(x->folder, FILE_NAME, 0);
	tracer__free(x->tracer);
	run__free(&x->result);
	return x->result.failure.status;
}
