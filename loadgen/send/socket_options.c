/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "loadgen/load.h"
#include "loadgen/send/socket_options.h"

/*
 * The kernel cuts a buffer to its limit in silence, unless CAP_NET_ADMIN asks. It
 * says twice what was asked for, as it counts its own bookkeeping.
 */
static int set_buffer(int fd, int force, int option, size_t bytes, const char *name,
		      const char *limit, struct failure *f)
{
	int asked = (int)bytes, got = 0;
	socklen_t length = sizeof(got);

	if (!bytes)
		return 0;
	if (setsockopt(fd, SOL_SOCKET, force, &asked, sizeof(asked)))
		setsockopt(fd, SOL_SOCKET, option, &asked, sizeof(asked));
	if (getsockopt(fd, SOL_SOCKET, option, &got, &length))
		return failure__set(f, STATUS_FAILED, -errno, "--socket %s: %m", name);
	if (got / 2 >= asked)
		return 0;
	return failure__set(f, STATUS_SYSTEM, -ENOBUFS,
			    "--socket %s=%zu: the kernel gives at most %d bytes: raise %s, or run "
			    "as root",
			    name, bytes, got / 2, limit);
}

static int set_congestion(int fd, const char *name, struct failure *f)
{
	int err;

	if (!name[0] || !setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name)))
		return 0;
	err = -errno;
	return failure__set(f, STATUS_SYSTEM, err,
			    "--socket congestion=%s: %s; choose of "
			    "/proc/sys/net/ipv4/tcp_allowed_congestion_control",
			    name,
			    err == -ENOENT ? "this kernel has none of that name" : strerror(-err));
}

static int bind_device(int fd, const char *name, struct failure *f)
{
	if (!name[0] || !setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, (socklen_t)strlen(name)))
		return 0;
	return failure__set(f, errno == EPERM ? STATUS_SYSTEM : STATUS_FAILED, -errno,
			    "--socket device=%s: %m; ip link shows the devices", name);
}

int socket_options__send(int fd, const struct load *load, struct failure *f)
{
	const struct socket_options *o = &load->socket;
	int one = 1;
	int err = bind_device(fd, o->device, f);

	if (!err)
		err = set_congestion(fd, o->congestion, f);
	if (!err)
		err = set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, o->sndbuf, "sndbuf",
				 "net.core.wmem_max", f);
	if (!err && o->nodelay && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		err = failure__set(f, STATUS_FAILED, -errno, "--socket nodelay: %m");
	return err;
}

int socket_options__receive(int fd, const struct load *load, struct failure *f)
{
	return set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, load->socket.rcvbuf, "rcvbuf",
			  "net.core.rmem_max", f);
}
