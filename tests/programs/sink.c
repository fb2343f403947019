// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A receiver that is independent of the project:
 *
 *   sink [--address A] [--port P]     prints its port, discards data until its standard
 * 	input ends, and prints their size; each as one JSON object per line
 */
#include "common.h"

#include <sys/epoll.h>
#include <unistd.h>

struct config {
	const char *address, *md5;
	unsigned long port;
};

static unsigned long accepted, received;

static void accept_connection(int epoll, int listener)
{
	struct epoll_event event = {.events = EPOLLIN};
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);

	if (fd < 0)
		die("accept");
	event.data.fd = fd;
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		die("epoll_ctl");
	accepted++;
}

static void discard(int fd)
{
	static char into[1 << 18];
	ssize_t n = recv(fd, into, sizeof(into), 0);

	if (n > 0)
		received += (unsigned long)n;
	else if (!n || errno != EAGAIN)
		close(fd);
}

static int listen_at(const struct config *c)
{
	struct sockaddr_storage at;
	socklen_t length = endpoint(c->address, c->port, &at);
	int one = 1, fd = socket(at.ss_family, SOCK_STREAM, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, (struct sockaddr *)&at, length) || listen(fd, 4096) ||
	    getsockname(fd, (struct sockaddr *)&at, &length))
		die("listening");
	if (c->md5)
		sign(fd, c->md5);
	printf("{\"port\": %u}\n", ntohs(((struct sockaddr_in6 *)&at)->sin6_port));
	fflush(stdout);
	return fd;
}

static int receive(const struct config *c)
{
	struct epoll_event event = {.events = EPOLLIN}, found[64];
	int i, n, listener = listen_at(c), epoll = epoll_create1(0);
	bool end = false;
	char rest[64];

	event.data.fd = listener;
	if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event))
		die("epoll");
	event.data.fd = STDIN_FILENO;
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, STDIN_FILENO, &event))
		die("standard input has to be a pipe");
	/* Reads everything that has arrived, before it acts on the end of standard input. */
	while ((n = epoll_wait(epoll, found, 64, end ? 0 : -1)) > (end ? 1 : 0) || n < 0) {
		for (i = 0; i < n; i++) {
			if (found[i].data.fd == listener)
				accept_connection(epoll, listener);
			else if (found[i].data.fd == STDIN_FILENO)
				end = end || read(STDIN_FILENO, rest, sizeof(rest)) <= 0;
			else
				discard(found[i].data.fd);
		}
		if (n < 0 && errno != EINTR)
			die("epoll_wait");
	}
	printf("{\"connections\": %lu, \"bytes\": %lu}\n", accepted, received);
	return 0;
}

static const struct row rows[] = {
	{"address", 'a', "ADDRESS", "IPv4 or IPv6 (127.0.0.1)", .at = AT(address)},
	{"port", 'p', "PORT", "to listen at (any)", AT(port), .max = 65535},
	{"md5", '5', "ADDRESS", "sign what goes to it and comes from it (TCP-MD5)", .at = AT(md5)},
	{.name = NULL},
};

int main(int argc, char **argv)
{
	struct config c = {.address = "127.0.0.1"};

	read_options(rows, &c, argc, argv);
	raise_nofile();
	return receive(&c);
}
