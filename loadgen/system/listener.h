/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where the receiver listens: an address, a port, perhaps in a named namespace. */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

#include "common/program.h"

struct load;

struct listener {
	int fd;
	struct sockaddr_storage address; /* with the port that it got */
	socklen_t length;
	unsigned int port;
};

/* The address, by getaddrinfo(), whose error it returns. */
int listener__resolve(struct listener *l, const char *host, const char *port, int flags);

/* Must be called before there are threads: it may visit another namespace. */
int listener__open(struct listener *l, const struct load *load, struct failure *f);
void listener__close(struct listener *l);

/* A new connection to it, with the load's socket options, from the caller's namespace: the socket,
 * or -errno. */
int listener__connect(const struct listener *l, const struct load *load, struct failure *f);

/* Does nobody but this machine reach it? */
bool listener__is_loopback(const struct listener *l);

/* The address that this machine connects to it from, port 0. 0 or -errno. */
int listener__own_address(const struct listener *l, struct sockaddr_storage *own);

/* Are the addresses the same, whatever the ports? */
bool listener__same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b);

/* "host:port" or "[host]:port", in numbers. */
#define ADDRESS_NAME 80
void listener__name(const struct sockaddr_storage *address, socklen_t length,
		    char name[ADDRESS_NAME]);

/* The port in an IPv4 or IPv6 socket address. */
unsigned int listener__port_of(const struct sockaddr_storage *address);
