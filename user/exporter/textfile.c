// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/exporter/textfile.h"

#include "user/system/files.h"

#include "common/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "sendpath.prom"
#define NEXT ".sendpath.prom.next" /* the collector reads *.prom */

int textfile__open(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || !faccessat(fd, ".", W_OK, AT_EACCESS))
		return fd < 0 ? -errno : fd;
	close(fd);
	return -EACCES;
}

int textfile__replace(int folder, const char *text, size_t size)
{
	int fd, err;

	/* One that is there may be another's: it is not written to. */
	if (unlinkat(folder, NEXT, 0) && errno != ENOENT)
		return -errno;
	fd = files__open_regular(folder, NEXT, O_WRONLY | O_CREAT | O_EXCL);
	if (fd < 0)
		return fd;
	err = program__write_all(fd, text, size);
	/* Whatever the umask: the collector is another user. */
	if (!err && fchmod(fd, 0644))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	if (!err && renameat(folder, NEXT, folder, NAME))
		err = -errno;
	if (err)
		unlinkat(folder, NEXT, 0);
	return err;
}

void textfile__remove(int folder)
{
	unlinkat(folder, NAME, 0);
}
