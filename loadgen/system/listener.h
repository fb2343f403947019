/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The receiver's listening socket: its address and port, perhaps in a named namespace. */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

#include "common/program.h"

struct load;

struct listener {
	int fd;
	struct sockaddr_storage address; /* with the assigned port */
	socklen_t length;
};

/* Reads a numeric address and port (NULL: none). Returns 0 or the error of getaddrinfo(). */
int listener__resolve(struct listener *l, const char *address, const char *port);

/* Opens the listener, perhaps in another namespace: must be called before there are threads. */
int listener__open(struct listener *l, const struct load *load, struct failure *f);
void listener__close(struct listener *l);

/* Accepts the next connection, with flags for accept4(). Returns the socket or -errno. */
int listener__accept(int listener, struct sockaddr_storage *peer, int flags);

/*
 * Opens a connection to the listener, with the load's socket options, in the caller's namespace.
 * Returns the socket or -errno.
 */
int listener__connect(const struct listener *l, const struct load *load, struct failure *f);

/* Returns whether only this machine can reach the listener. */
bool listener__is_loopback(const struct listener *l);

/* Finds the local address, with port 0, that connections to l have. Returns 0 or -errno. */
int listener__own_address(const struct listener *l, struct sockaddr_storage *own);

/* Returns whether the addresses are equal; ignores ports. */
bool listener__same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b);

/* The size of a text "host:port" or "[host]:port", in numbers. */
#define ADDRESS_NAME 80
void listener__name(const struct sockaddr_storage *address, char name[ADDRESS_NAME]);

/* Returns the port in an IPv4 or IPv6 socket address. */
unsigned int listener__port_of(const struct sockaddr_storage *address);
