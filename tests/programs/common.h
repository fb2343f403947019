/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the programs that tests observe. Each program is one file of this folder. */
#pragma once

#include <argp.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stddef.h>
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

/* Makes TCP sign segments (TCP-MD5). The key is known to all, so it protects nothing. */
static inline void sign(int fd, const char *with)
{
	struct tcp_md5sig signature = {.tcpm_keylen = 4, .tcpm_key = "peer"};

	endpoint(with, 0, &signature.tcpm_addr);
	if (setsockopt(fd, IPPROTO_TCP, TCP_MD5SIG, &signature, sizeof(signature)))
		die("TCP_MD5SIG");
}

/* Raises the limit of open files: each connection needs one. */
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

/*
 * An option of a program. It sets a member of the program's struct config: by read(), else to a
 * number if max is set, else to a text, or to true if there is no arg.
 */
struct row {
	const char *name;
	int letter;
	const char *arg;   /* NULL: a flag */
	const char *help;  /* NULL: --help does not show it */
	size_t at;	   /* offset of the member: AT() */
	unsigned long max; /* the highest number; 0: no number */
	void (*read)(struct argp_state *state, const char *text, void *at);
};
#define AT(member) offsetof(struct config, member)
#define ROWS_MAX   32

struct options {
	const struct row *rows; /* the last row has no name */
	void *config;
};

static inline error_t parse_option(int key, char *text, struct argp_state *state)
{
	const struct options *o = state->input;

	for (const struct row *row = o->rows; row->name; row++) {
		void *at = (char *)o->config + row->at;

		if (row->letter != key)
			continue;
		if (row->read)
			row->read(state, text, at);
		else if (row->max)
			*(unsigned long *)at = number(state, text, row->max);
		else if (row->arg)
			*(const char **)at = text;
		else
			*(bool *)at = true;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* Reads the options; ends the program with status 2 if they are wrong. */
static inline void read_options(const struct row *rows, void *config, int argc, char **argv)
{
	struct argp_option list[ROWS_MAX + 1] = {{0}};
	struct argp argp = {.options = list, .parser = parse_option};
	struct options o = {rows, config};

	for (size_t i = 0; i < ROWS_MAX && rows[i].name; i++)
		list[i] = (struct argp_option){.name = rows[i].name,
					       .key = rows[i].letter,
					       .arg = rows[i].arg,
					       .flags = rows[i].help ? 0 : OPTION_HIDDEN,
					       .doc = rows[i].help};
	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &o);
}
