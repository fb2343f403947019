/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections that have not said yet what they want. All are served by one thread, in a table of
 * fixed size, each for a short time: whoever comes when it is full takes the place of the one
 * that has been silent for longest. So no number of strangers keeps a sender out for long, or
 * costs more than the table.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "loadgen/receive/sessions.h"
#include "loadgen/run/control.h"
#include "loadgen/send/sender.h"

#define GUESTS_MAX  64
#define ADDRESS_MAX 16 /* of them from one address */
#define HELLO_NS    2000000000ULL
#define RETRY_NS    100000000ULL /* after no descriptor was free */
#define REPLY_S	    5		 /* a sender that does not read its replies */
#define LINES_MAX   10		 /* a second */
#define FROM_MAX    (NI_MAXHOST + NI_MAXSERV + 4)

struct guest {
	int fd; /* -1: the place is free */
	uint64_t until_ns;
	char host[NI_MAXHOST];
	char from[FROM_MAX];
	size_t got;
	unsigned char bytes[WIRE_HELLO_BYTES];
	bool challenged;
	uint8_t challenge[SECRET_BYTES];
	struct wire_hello load; /* what it was challenged for */
};

struct guests {
	int listener;
	uint64_t retry_ns; /* do not accept before that */
	struct sessions *sessions;
	const struct key *key;
	struct guest each[GUESTS_MAX];
};

void serve__log(const char *format, ...)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static uint64_t second;
	static unsigned int lines, left_out;
	uint64_t now = now_ns() / 1000000000;
	va_list args;

	pthread_mutex_lock(&lock);
	if (now != second) {
		if (left_out)
			fprintf(stderr, "loadgen: %u more lines were left out\n", left_out);
		second = now;
		lines = left_out = 0;
	}
	if (lines++ < LINES_MAX) {
		va_start(args, format);
		fputs("loadgen: ", stderr);
		vfprintf(stderr, format, args);
		fputc('\n', stderr);
		va_end(args);
	} else {
		left_out++;
	}
	pthread_mutex_unlock(&lock);
}

static void forget(struct guest *g)
{
	g->fd = -1;
}

static void turn_away(struct guest *g, const char *why)
{
	serve__log("%s turned away: %s", g->from, why);
	close(g->fd);
	forget(g);
}

static void refuse(struct guest *g, const char *why)
{
	struct wire_hello h = {.version = WIRE_VERSION, .kind = WIRE_REFUSED};

	snprintf(h.text, sizeof(h.text), "%s", why);
	wire__send_hello(g->fd, &h);
	serve__log("%s refused: %s", g->from, why);
	close(g->fd);
	forget(g);
}

/* A free place: else that of the oldest of the address, if that has many, or of all. */
static struct guest *make_place(struct guests *all, const char *host)
{
	struct guest *oldest = NULL, *neighbour = NULL, *free = NULL;
	unsigned int neighbours = 0;

	for (struct guest *g = all->each; g < all->each + GUESTS_MAX; g++) {
		if (g->fd < 0) {
			free = g;
			continue;
		}
		if (!oldest || g->until_ns < oldest->until_ns)
			oldest = g;
		if (strcmp(g->host, host))
			continue;
		neighbours++;
		if (!neighbour || g->until_ns < neighbour->until_ns)
			neighbour = g;
	}
	if (neighbours >= ADDRESS_MAX)
		free = neighbour;
	else if (!free)
		free = oldest;
	if (free->fd >= 0)
		turn_away(free, "others wait, too");
	return free;
}

static void name(const struct sockaddr_storage *a, socklen_t length, char host[NI_MAXHOST],
		 char from[FROM_MAX])
{
	char port[NI_MAXSERV] = "?";

	snprintf(host, NI_MAXHOST, "?");
	getnameinfo((const struct sockaddr *)a, length, host, NI_MAXHOST, port, sizeof(port),
		    NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(from, FROM_MAX, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

/* What cannot be had now may be had later: a descriptor, memory. */
static void let_in(struct guests *all)
{
	struct timeval limit = {.tv_sec = REPLY_S};
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);
	char host[NI_MAXHOST], from[FROM_MAX];
	int fd = accept4(all->listener, (struct sockaddr *)&address, &length, SOCK_CLOEXEC);
	struct guest *g;

	if (fd < 0 && (errno == EINTR || errno == EAGAIN || errno == ECONNABORTED))
		return;
	if (fd < 0) {
		serve__log("cannot take a connection: %m");
		all->retry_ns = now_ns() + RETRY_NS;
		return;
	}
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	name(&address, length, host, from);
	g = make_place(all, host);
	*g = (struct guest){.fd = fd, .until_ns = now_ns() + HELLO_NS};
	memcpy(g->host, host, sizeof(g->host));
	memcpy(g->from, from, sizeof(g->from));
}

static void challenge(struct guest *g, const struct wire_hello *load)
{
	struct wire_hello h = {.version = WIRE_VERSION, .kind = WIRE_CHALLENGE};

	secret__random(g->challenge);
	memcpy(h.secret, g->challenge, sizeof(h.secret));
	g->load = *load;
	g->challenged = true;
	g->until_ns = now_ns() + HELLO_NS;
	if (wire__send_hello(g->fd, &h))
		turn_away(g, "it reads nothing");
}

static bool proves(const struct guests *all, const struct guest *g, const struct wire_hello *h)
{
	uint8_t proof[SECRET_BYTES];

	key__prove(all->key, g->challenge, proof);
	return g->challenged && secret__equal(proof, h->secret);
}

static void settle(struct guest *g, const char *why_not)
{
	if (why_not)
		refuse(g, why_not);
	else
		forget(g);
}

static void hear(struct guests *all, struct guest *g, const struct wire_hello *h)
{
	if (h->kind == WIRE_CONTROL && all->key)
		challenge(g, h);
	else if (h->kind == WIRE_CONTROL)
		settle(g, sessions__begin(all->sessions, g->fd, h, g->from));
	else if (h->kind == WIRE_PROOF && all->key)
		settle(g, proves(all, g, h)
				  ? sessions__begin(all->sessions, g->fd, &g->load, g->from)
				  : "it has another --key");
	else if (h->kind == WIRE_DATA)
		settle(g, sessions__join(all->sessions, g->fd, h));
	else
		refuse(g, "no such hello");
}

/* Another protocol or version shows early; it may say less than a hello, and then wait. */
static void look_at(struct guests *all, struct guest *g)
{
	struct wire_hello h;
	char why[WIRE_TEXT];
	int err = 0;

	if (g->got >= WIRE_HEAD_BYTES)
		err = wire__get_head(g->bytes, &h);
	if (!err && g->got < WIRE_HELLO_BYTES)
		return;
	if (!err)
		err = wire__get_hello(g->bytes, &h);
	g->got = 0;
	if (err == -EPROTO) {
		snprintf(why, sizeof(why), "it speaks version %u, we speak %u", h.version,
			 WIRE_VERSION);
		refuse(g, why);
	} else if (err) {
		turn_away(g, "not a sender of ours");
	} else {
		hear(all, g, &h);
	}
}

static void listen_to(struct guests *all, struct guest *g)
{
	ssize_t n = recv(g->fd, g->bytes + g->got, WIRE_HELLO_BYTES - g->got, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		turn_away(g, "it said too little");
		return;
	}
	g->got += (size_t)n;
	look_at(all, g);
}

/* Fills events, of each guest where it has its place; until when poll() may wait, in ms. */
static int prepare(struct guests *all, struct pollfd *events, struct pollfd *listener)
{
	uint64_t now = now_ns(), next = UINT64_MAX;

	*listener =
		(struct pollfd){.fd = now < all->retry_ns ? -1 : all->listener, .events = POLLIN};
	if (listener->fd < 0)
		next = all->retry_ns;
	for (unsigned int i = 0; i < GUESTS_MAX; i++) {
		struct guest *g = &all->each[i];

		if (g->fd >= 0 && now >= g->until_ns)
			turn_away(g, "it said nothing");
		events[i] = (struct pollfd){.fd = g->fd, .events = POLLIN};
		if (g->fd >= 0 && g->until_ns < next)
			next = g->until_ns;
	}
	return next == UINT64_MAX ? -1 : (int)((next - now) / 1000000 + 1);
}

static int serve(struct guests *all, struct control *control)
{
	struct pollfd events[GUESTS_MAX + 2], *listener = &events[GUESTS_MAX];
	struct pollfd *stop = &events[GUESTS_MAX + 1];
	struct failure f = {0};

	*stop = (struct pollfd){.fd = control__fd(control), .events = POLLIN};
	for (;;) {
		if (poll(events, GUESTS_MAX + 2, prepare(all, events, listener)) < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (stop->revents && control__read(control, &f) == CONTROL_STOP)
			return 0;
		for (unsigned int i = 0; i < GUESTS_MAX; i++)
			if (events[i].revents)
				listen_to(all, &all->each[i]);
		if (listener->revents)
			let_in(all);
	}
}

int guests__serve(int listener, struct control *control, struct sessions *sessions,
		  const struct key *key)
{
	struct guests *all = calloc(1, sizeof(*all));
	int err;

	if (!all)
		return -ENOMEM;
	*all = (struct guests){.listener = listener, .sessions = sessions, .key = key};
	for (unsigned int i = 0; i < GUESTS_MAX; i++)
		forget(&all->each[i]);
	fcntl(listener, F_SETFL, O_NONBLOCK); /* who waited may be gone when it is accepted */
	err = serve(all, control);
	free(all);
	return err;
}
