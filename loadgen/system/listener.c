/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "loadgen/load.h"
#include "loadgen/system/listener.h"

#define CONNECT_TIMEOUT_S 5

unsigned int listener__port_of(const struct sockaddr_storage *address)
{
	if (address->ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)address)->sin6_port);
	return ntohs(((const struct sockaddr_in *)address)->sin_port);
}

bool listener__same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;

	if (a->ss_family != b->ss_family)
		return false;
	return a->ss_family == AF_INET6 ? IN6_ARE_ADDR_EQUAL(&a6->sin6_addr, &b6->sin6_addr)
					: a4->sin_addr.s_addr == b4->sin_addr.s_addr;
}

void listener__name(const struct sockaddr_storage *address, char name[ADDRESS_NAME])
{
	char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";

	getnameinfo((const struct sockaddr *)address, sizeof(*address), host, sizeof(host), port,
		    sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(name, ADDRESS_NAME, strchr(host, ':') ? "[%.64s]:%.8s" : "%.64s:%.8s", host, port);
}

/* Connects a datagram socket: this sends nothing, and the kernel chooses the local address. */
int listener__own_address(const struct listener *l, struct sockaddr_storage *own)
{
	socklen_t length = sizeof(*own);
	int fd = socket(l->address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int err = fd < 0 || connect(fd, (const struct sockaddr *)&l->address, l->length) ||
				  getsockname(fd, (struct sockaddr *)own, &length)
			  ? -errno
			  : 0;

	if (fd >= 0)
		close(fd);
	((struct sockaddr_in *)own)->sin_port = 0; /* sin6_port has the same offset */
	return err;
}

bool listener__is_loopback(const struct listener *l)
{
	const struct sockaddr_in6 *six = (const void *)&l->address;
	const struct sockaddr_in *four = (const void *)&l->address;

	if (l->address.ss_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
	return ntohl(four->sin_addr.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET;
}

int listener__resolve(struct listener *l, const char *address, const char *port)
{
	struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
				 .ai_socktype = SOCK_STREAM};
	struct addrinfo *found;
	int err = getaddrinfo(address, port, &hints, &found);

	if (err)
		return err;
	memcpy(&l->address, found->ai_addr, found->ai_addrlen);
	l->length = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

static int explain_netns(const char *name, struct failure *f)
{
	bool refused = errno == EPERM;

	return failure__set(f, refused ? STATUS_SYSTEM : STATUS_FAILED, -errno, "--netns %s: %m%s",
			    name,
			    refused ? ": entering a network namespace needs CAP_SYS_ADMIN: run as "
				      "root"
			    : errno == ENOENT ? " (ip netns list shows those there are)"
					      : "");
}

/* Creates the socket in another namespace, where it stays, and moves the thread back. */
static int socket_in(const char *netns, int family, struct failure *f)
{
	int here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), there, fd = -1, err = 0;
	char path[256];

	snprintf(path, sizeof(path), "/run/netns/%s", netns);
	there = open(path, O_RDONLY | O_CLOEXEC);
	if (here < 0 || there < 0 || setns(there, CLONE_NEWNET) ||
	    (fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) < 0 || setns(here, CLONE_NEWNET))
		err = explain_netns(netns, f);
	if (here >= 0)
		close(here);
	if (there >= 0)
		close(there);
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

/*
 * Sets a buffer. The kernel limits it silently, unless CAP_NET_ADMIN is used, and reports twice the
 * requested size, because it includes its own bookkeeping.
 */
static int set_buffer(int fd, int force, int option, size_t bytes, const char *name,
		      const char *limit, struct failure *f)
{
	int wanted = (int)bytes, got = 0;
	socklen_t length = sizeof(got);

	if (!bytes)
		return 0;
	if (setsockopt(fd, SOL_SOCKET, force, &wanted, sizeof(wanted)))
		setsockopt(fd, SOL_SOCKET, option, &wanted, sizeof(wanted));
	if (getsockopt(fd, SOL_SOCKET, option, &got, &length))
		return failure__set(f, STATUS_FAILED, -errno, "--socket %s: %m", name);
	if (got / 2 >= wanted)
		return 0;
	return failure__set(f, STATUS_SYSTEM, -ENOBUFS,
			    "--socket %s=%zu: the kernel gives at most %d bytes: raise %s, or run "
			    "as root",
			    name, bytes, got / 2, limit);
}

static bool set_algorithm(int fd, const char *name)
{
	return !setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name));
}

/*
 * Replaces bbr, which paces by its estimate of the path. Within one machine, the estimate is far
 * below the possible rate, and differs from run to run.
 */
static void avoid_pacing(int fd)
{
	char name[SOCKET_NAME] = "";
	socklen_t length = sizeof(name);

	if (!getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &length) &&
	    !strncmp(name, "bbr", 3) && !set_algorithm(fd, "cubic"))
		set_algorithm(fd, "reno"); /* every kernel allows reno to everybody */
}

static int set_congestion(int fd, const struct load *load, struct failure *f)
{
	const char *name = load->socket.congestion;
	int err;

	if (!name[0] && !load->peer)
		avoid_pacing(fd);
	if (!name[0] || set_algorithm(fd, name))
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

/* Sets options before connecting. */
static int set_sending_options(int fd, const struct load *load, struct failure *f)
{
	const struct socket_options *o = &load->socket;
	int one = 1;
	int err = bind_device(fd, o->device, f);

	if (!err)
		err = set_congestion(fd, load, f);
	if (!err)
		err = set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, o->sndbuf, "sndbuf",
				 "net.core.wmem_max", f);
	if (!err && o->nodelay && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		err = failure__set(f, STATUS_FAILED, -errno, "--socket nodelay: %m");
	return err;
}

static int explain_bind(const struct listener *l, int err, struct failure *f)
{
	const char *remedy = "";
	char name[ADDRESS_NAME];

	if (err == -EADDRINUSE)
		remedy = ": choose another --port, or --port 0 for any free one";
	else if (err == -EADDRNOTAVAIL)
		remedy = ": choose an --address of this machine";
	else if (err == -EACCES)
		remedy = ": ports below 1024 need privilege, choose a higher --port";
	listener__name(&l->address, name);
	return failure__set(f, STATUS_FAILED, err, "cannot listen on %s: %s%s", name,
			    strerror(-err), remedy);
}

int listener__open(struct listener *l, const struct load *load, struct failure *f)
{
	int one = 1, err;
	char port[8];

	*l = (struct listener){.fd = -1};
	snprintf(port, sizeof(port), "%u", load->port);
	err = listener__resolve(l, load->address, port);
	if (err)
		return failure__set(f, STATUS_USAGE, -EINVAL, "--address %s: %s", load->address,
				    gai_strerror(err));
	if (load->netns)
		l->fd = socket_in(load->netns, l->address.ss_family, f);
	else
		l->fd = socket(l->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (l->fd < 0)
		return failure__set(f, STATUS_FAILED, load->netns ? l->fd : -errno,
				    "cannot make a socket: %m");
	/* Without it, connections of an earlier run would block a fixed port for a minute. */
	setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	/* Accepted connections inherit the buffer. */
	err = set_buffer(l->fd, SO_RCVBUFFORCE, SO_RCVBUF, load->socket.rcvbuf, "rcvbuf",
			 "net.core.rmem_max", f);
	if (!err && (bind(l->fd, (struct sockaddr *)&l->address, l->length) ||
		     listen(l->fd, (int)load->backlog) ||
		     getsockname(l->fd, (struct sockaddr *)&l->address, &l->length)))
		err = explain_bind(l, -errno, f);
	if (err)
		listener__close(l);
	return err;
}

void listener__close(struct listener *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}

int listener__accept(int listener, struct sockaddr_storage *peer, int flags)
{
	socklen_t length = sizeof(*peer);
	int fd;

	do
		fd = accept4(listener, (struct sockaddr *)peer, &length, flags | SOCK_CLOEXEC);
	while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
	return fd < 0 ? -errno : fd;
}

/* Connects with a timeout: an address that drops packets must not block the run for minutes. */
static int connect_within(int fd, const struct listener *l)
{
	struct timeval patience = {.tv_sec = CONNECT_TIMEOUT_S}, for_ever = {0};
	int err;

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	/* A second connect() waits for the same handshake. */
	err = TEMP_FAILURE_RETRY(connect(fd, (const struct sockaddr *)&l->address, l->length));
	if (err)
		return errno == EINPROGRESS ? -ETIMEDOUT : -errno;
	return setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &for_ever, sizeof(for_ever)) ? -errno : 0;
}

int listener__connect(const struct listener *l, const struct load *load, struct failure *f)
{
	int fd = socket(l->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int err;

	if (fd < 0)
		return failure__set(f, STATUS_FAILED, -errno, "cannot make a socket: %m%s",
				    errno == EMFILE ? "; raise the limit (ulimit -n) or give fewer "
						      "--threads"
						    : "");
	err = set_sending_options(fd, load, f);
	if (!err)
		err = connect_within(fd, l);
	if (!err)
		return fd;
	close(fd);
	return failure__set(f, STATUS_FAILED, err, "cannot connect to the receiver's port %u: %s",
			    listener__port_of(&l->address), strerror(-err));
}
