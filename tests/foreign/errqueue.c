// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A library to preload into a program that does not report what it reads from its error queues. It
 * counts zero-copy notifications at recvmsg(), and writes the counts to the file ERRQUEUE_COUNTS
 * when the program ends.
 */
#include <time.h> /* needed by linux/errqueue.h */

#include <dlfcn.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

static atomic_ulong notifications, completions, copied;

static bool is_error(const struct cmsghdr *c)
{
	return (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
	       (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR);
}

static void count(const struct sock_extended_err *e)
{
	unsigned long sends = e->ee_data - e->ee_info + 1;

	if (e->ee_origin != SO_EE_ORIGIN_ZEROCOPY)
		return;
	atomic_fetch_add(&notifications, 1);
	atomic_fetch_add(&completions, sends);
	if (e->ee_code & SO_EE_CODE_ZEROCOPY_COPIED)
		atomic_fetch_add(&copied, sends);
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	static ssize_t (*next)(int fd, struct msghdr *message, int flags);
	struct cmsghdr *c;
	ssize_t n;

	if (!next)
		next = dlsym(RTLD_NEXT, "recvmsg");
	n = next(fd, message, flags);
	if (n < 0 || !(flags & MSG_ERRQUEUE))
		return n;
	for (c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c))
		if (is_error(c))
			count((void *)CMSG_DATA(c));
	return n;
}

__attribute__((destructor)) static void write_counts(void)
{
	const char *path = getenv("ERRQUEUE_COUNTS");
	FILE *file = path ? fopen(path, "w") : NULL;

	if (!file)
		return;
	fprintf(file, "{\"notifications\": %lu, \"completions\": %lu, \"copied\": %lu}\n",
		atomic_load(&notifications), atomic_load(&completions), atomic_load(&copied));
	fclose(file);
}
