/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the programs that tests observe have in common: each is one file beside this. */
#pragma once

#include <argp.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#ifndef SO_ZEROCOPY
#define SO_ZEROCOPY 60
#endif

static inline void die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	exit(1);
}

static inline socklen_t endpoint(const char *address, unsigned short port,
				 struct sockaddr_storage *to)
{
	struct sockaddr_in6 *v6 = (void *)to;
	struct sockaddr_in *v4 = (void *)to;

	memset(to, 0, sizeof(*to));
	if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		return sizeof(*v4);
	}
	if (inet_pton(AF_INET6, address, &v6->sin6_addr) != 1) {
		errno = EINVAL;
		die(address);
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(port);
	return sizeof(*v6);
}

/* The same secret at both ends: what it signs is no secret here. */
static inline void sign(int fd, const char *with)
{
	struct tcp_md5sig signature = {.tcpm_keylen = 4, .tcpm_key = "peer"};

	endpoint(with, 0, &signature.tcpm_addr);
	if (setsockopt(fd, IPPROTO_TCP, TCP_MD5SIG, &signature, sizeof(signature)))
		die("TCP_MD5SIG");
}

/* As many files as the system lets us have: a connection each. */
static inline void raise_nofile(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		die("RLIMIT_NOFILE");
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static inline unsigned long number(struct argp_state *state, const char *text, unsigned long max)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*end || !*text || n > max)
		argp_error(state, "%s: no number up to %lu", text, max);
	return n;
}
