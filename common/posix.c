// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "common/posix.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int posix__write_all(int fd, const char *text, size_t size)
{
	ssize_t n;

	while (size) {
		n = write(fd, text, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		size -= (size_t)n;
	}
	return 0;
}

void posix__die_by(int sig)
{
	fflush(NULL);
	signal(sig, SIG_DFL);
	raise(sig);
}
