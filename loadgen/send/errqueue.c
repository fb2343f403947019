/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <netinet/in.h>
#include <time.h>

#include <linux/errqueue.h> /* needs struct timespec */

#include "loadgen/send/errqueue.h"

static bool is_error(const struct cmsghdr *c)
{
	return (c->cmsg_level == SOL_IP && c->cmsg_type == IP_RECVERR) ||
	       (c->cmsg_level == SOL_IPV6 && c->cmsg_type == IPV6_RECVERR);
}

bool errqueue__parse(struct msghdr *m, struct completion *c)
{
	for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h)) {
		const struct sock_extended_err *e = (const void *)CMSG_DATA(h);

		if (!is_error(h) || h->cmsg_len < CMSG_LEN(sizeof(*e)))
			continue;
		if (e->ee_origin != SO_EE_ORIGIN_ZEROCOPY || e->ee_errno)
			continue;
		c->low = e->ee_info;
		c->high = e->ee_data;
		c->copied = e->ee_code & SO_EE_CODE_ZEROCOPY_COPIED;
		return true;
	}
	return false;
}

int errqueue__read(int fd, struct completion *c)
{
	_Alignas(struct cmsghdr) char control[128];

	for (;;) {
		struct msghdr m = {.msg_control = control, .msg_controllen = sizeof(control)};

		if (recvmsg(fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0) {
			if (errqueue__parse(&m, c))
				return 1;
		} else if (errno == EAGAIN) {
			return 0;
		} else if (errno != EINTR) {
			return -errno;
		}
	}
}
