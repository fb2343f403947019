/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loadgen/serving/server.h"

#define STAT_MAX 1024

int procinfo__parse(const char *stat, struct procinfo *p)
{
	const char *open = strchr(stat, '('), *close = strrchr(stat, ')');
	size_t length;

	/* The name may have parentheses and blanks itself: its end is the last one. */
	if (!open || !close || close < open || sscanf(stat, "%d", &p->pid) != 1)
		return -EINVAL;
	length = (size_t)(close - open - 1);
	if (length >= sizeof(p->name))
		length = sizeof(p->name) - 1;
	memcpy(p->name, open + 1, length);
	p->name[length] = '\0';
	/* After the name: state, ten numbers, then user and system time. */
	return sscanf(close + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &p->user,
		      &p->system) == 2
		       ? 0
		       : -EINVAL;
}

static unsigned long long ticks(const struct procinfo *p)
{
	return p->user + p->system;
}

size_t procinfo__keep(struct procinfo *top, size_t count, const struct procinfo *p)
{
	size_t at = count;

	while (at && ticks(&top[at - 1]) < ticks(p))
		at--;
	if (at == PROCINFO_TOP)
		return count;
	if (count < PROCINFO_TOP)
		count++;
	memmove(&top[at + 1], &top[at], (count - at - 1) * sizeof(*top));
	top[at] = *p;
	return count;
}

size_t procinfo__text(const struct procinfo *top, size_t count, char text[PROCINFO_TEXT])
{
	double hertz = (double)sysconf(_SC_CLK_TCK);
	char name[sizeof(top->name)];
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		memcpy(name, top[i].name, sizeof(name));
		for (char *c = name; *c; c++)
			if (!isprint((unsigned char)*c))
				*c = '?';
		used += (size_t)snprintf(text + used, PROCINFO_TEXT - used, "%d %s %.2f %.2f\n",
					 top[i].pid, name, (double)top[i].user / hertz,
					 (double)top[i].system / hertz);
	}
	return used;
}

static int read_process(int proc, const char *pid, struct procinfo *p)
{
	char path[32], stat[STAT_MAX];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%.16s/stat", pid);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, stat, sizeof(stat) - 1);
	close(fd);
	if (n <= 0)
		return -ESRCH;
	stat[n] = '\0';
	return procinfo__parse(stat, p);
}

int procinfo__answer(char text[PROCINFO_TEXT])
{
	struct procinfo top[PROCINFO_TOP], p;
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t count = 0;
	int err;

	if (!proc)
		return -errno;
	while ((entry = readdir(proc))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		err = read_process(dirfd(proc), entry->d_name, &p);
		if (err == -EMFILE || err == -ENFILE) {
			closedir(proc);
			return err;
		}
		if (!err) /* else it ended meanwhile */
			count = procinfo__keep(top, count, &p);
	}
	closedir(proc);
	return (int)procinfo__text(top, count, text);
}
