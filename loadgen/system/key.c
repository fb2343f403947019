/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loadgen/system/key.h"

int key__read(struct key *k, const char *path, struct failure *f)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat s = {0};
	ssize_t n = fd < 0 || fstat(fd, &s) ? -1 : read(fd, k->of, sizeof(k->of));
	int err = n < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	if (err)
		return failure__set(f, STATUS_USAGE, err, "--key %s: %s", path, strerror(-err));
	if (s.st_mode & (S_IRWXG | S_IRWXO))
		return failure__set(f, STATUS_USAGE, -EPERM,
				    "--key %s: others may read it: chmod 600 %s", path, path);
	k->bytes = (size_t)n - (n && k->of[n - 1] == '\n');
	if (k->bytes < KEY_MIN)
		return failure__set(f, STATUS_USAGE, -EINVAL,
				    "--key %s: a key has %d bytes or more, such as openssl rand "
				    "-hex 32 prints",
				    path, KEY_MIN);
	return 0;
}
