/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <argp.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/program.h"
#include "loadgen/options/options.h"
#include "loadgen/receive/listener.h"
#include "loadgen/receive/peer.h"
#include "loadgen/run/run.h"

enum { OPT_ADDRESS = 0x100, OPT_PORT };

static const struct argp_option options[] = {
	{"address", OPT_ADDRESS, "ADDR", 0, "listen on it (default 127.0.0.1; 0.0.0.0: any)", 0},
	{"port", OPT_PORT, "N", 0, "and on this port (default 0, any free one)", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	char why[256];

	switch (key) {
	case ARGP_KEY_INIT:
		program__one_line_errors(state);
		return 0;
	case OPT_ADDRESS:
	case OPT_PORT:
		if (!load_options__set(state->input, key == OPT_PORT ? "port" : "address", arg, why,
				       sizeof(why)))
			return 0;
		argp_failure(state, STATUS_USAGE, 0, "%s", why);
		return EINVAL;
	case ARGP_KEY_ARG:
		argp_failure(state, STATUS_USAGE, 0, "serve %s: not an option", arg);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp serve_argp = {
	.options = options,
	.parser = parse,
	.doc = "Receive what loadgen or analyze sends with --peer, one sender at a time, until "
	       "interrupted. Whoever reaches the port can use it: listen where you trust all.",
};

struct guest {
	struct sessions *sessions;
	int fd;
	char from[NI_MAXHOST + NI_MAXSERV + 4];
};

static void *host_guest(void *arg)
{
	struct guest *g = arg;

	sessions__serve(g->sessions, g->fd, g->from);
	free(g);
	return NULL;
}

static void name_guest(struct guest *g, const struct sockaddr_storage *a, socklen_t length)
{
	char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";

	getnameinfo((const struct sockaddr *)a, length, host, sizeof(host), port, sizeof(port),
		    NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(g->from, sizeof(g->from), strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

/* A thread for each, because one that says nothing must not keep others waiting. */
static void let_in(int listener, struct sessions *sessions)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);
	struct guest *g = calloc(1, sizeof(*g));
	pthread_t thread;

	if (!g)
		return;
	g->sessions = sessions;
	g->fd = accept4(listener, (struct sockaddr *)&address, &length, SOCK_CLOEXEC);
	if (g->fd < 0) {
		if (errno != EINTR && errno != ECONNABORTED)
			fprintf(stderr, "loadgen: cannot take a connection: %m\n");
		free(g);
		return;
	}
	name_guest(g, &address, length);
	if (!pthread_create(&thread, NULL, host_guest, g)) {
		pthread_detach(thread);
		return;
	}
	fprintf(stderr, "loadgen: no thread for %s\n", g->from);
	close(g->fd);
	free(g);
}

/* Until a signal. */
static void serve(int listener, struct control *control, struct sessions *sessions)
{
	struct pollfd events[] = {{.fd = listener, .events = POLLIN},
				  {.fd = control__fd(control), .events = POLLIN}};
	struct failure f = {0};

	for (;;) {
		if (poll(events, 2, -1) < 0)
			continue; /* interrupted */
		if (events[1].revents && control__read(control, &f) == CONTROL_STOP)
			return;
		if (events[0].revents)
			let_in(listener, sessions);
	}
}

int serve__main(int argc, char **argv)
{
	struct load_options o;
	struct listener l;
	struct failure f = {0};
	struct sessions *sessions;
	struct control *control = NULL;

	load_options__init(&o);
	argp_err_exit_status = STATUS_USAGE;
	if (argp_parse(&serve_argp, argc, argv, 0, NULL, &o))
		return STATUS_USAGE;
	if (control__create(&control, -1, &f) || listener__open(&l, &o.load, &f)) {
		fprintf(stderr, "loadgen: %s\n", f.text);
		control__destroy(control);
		return f.status;
	}
	sessions = sessions__create();
	if (!sessions) {
		fprintf(stderr, "loadgen: cannot serve: %m\n");
		return STATUS_FAILED;
	}
	printf(strchr(o.load.address, ':') ? "listening on [%s]:%u\n" : "listening on %s:%u\n",
	       o.load.address, l.port);
	fflush(stdout);
	serve(l.fd, control, sessions);
	listener__close(&l);
	program__die_by(control__signal(control));
	return STATUS_OK;
}
