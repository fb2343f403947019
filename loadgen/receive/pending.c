/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections that have not said yet what they want, and the one session there may be. One thread
 * serves them all and waits for none: a pending connection has a place in a table of fixed size
 * for a short time, whatever it says, and is sent two hellos at most. Who comes when the table is
 * full takes the place of the oldest. So no number of strangers keeps a sender out for long, or
 * costs more than the table.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loadgen/receive/pending.h"
#include "loadgen/send/sender.h"
#include "loadgen/system/listener.h"
#include "loadgen/system/log.h"

#define PENDING_MAX 64
#define ADDRESS_MAX 16		  /* of them from one address, when all places are taken */
#define PENDING_NS  2000000000ULL /* from its being accepted to its last hello */
#define TICK_MS	    100		  /* how often that is looked at; after no descriptor was free */

struct pending {
	int fd; /* -1: the place is free */
	uint64_t until_ns;
	struct sockaddr_storage address;
	char from[WIRE_TEXT];
	struct wire_hello hello; /* so much of it came */
	size_t got;
	struct wire_hello control; /* the load, when it was said; */
	uint8_t secret[SECRET_BYTES];
};

struct server {
	int listener, stop;
	bool full; /* no descriptor was free */
	const struct session_limits *limits;
	const struct key *key;
	struct session *session;
	struct pending each[PENDING_MAX];
};

struct events {
	struct pollfd each[PENDING_MAX], session[2], listener, stop;
};

static void turn_away(struct pending *p, const char *why)
{
	log__line("%s turned away: %s", p->from, why);
	close(p->fd);
	p->fd = -1;
}

static void refuse(struct pending *p, const char *why)
{
	struct wire_hello h = {.kind = WIRE_REFUSED};

	snprintf(h.text, sizeof(h.text), "%s", why);
	wire__send_hello(p->fd, &h, NULL);
	log__line("%s refused: %s", p->from, why);
	close(p->fd);
	p->fd = -1;
}

/* A free place; else that of the oldest: of the same address, if that has many. */
static struct pending *make_place(struct server *s, const struct sockaddr_storage *address)
{
	struct pending *oldest = NULL, *neighbour = NULL;
	unsigned int neighbours = 0;

	for (struct pending *p = s->each; p < s->each + PENDING_MAX; p++) {
		if (p->fd < 0)
			return p;
		if (!oldest || p->until_ns < oldest->until_ns)
			oldest = p;
		if (!listener__same_host(&p->address, address))
			continue;
		neighbours++;
		if (!neighbour || p->until_ns < neighbour->until_ns)
			neighbour = p;
	}
	if (neighbours >= ADDRESS_MAX)
		oldest = neighbour;
	turn_away(oldest, "others wait, too");
	return oldest;
}

static void name(struct pending *p, socklen_t length)
{
	char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";

	getnameinfo((struct sockaddr *)&p->address, length, host, sizeof(host), port, sizeof(port),
		    NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(p->from, sizeof(p->from), strchr(host, ':') ? "[%.64s]:%.8s" : "%.64s:%.8s", host,
		 port);
}

/* What cannot be had now may be had later: a descriptor, memory. */
static void let_in(struct server *s)
{
	struct sockaddr_storage address = {0};
	socklen_t length = sizeof(address);
	int fd = accept4(s->listener, (struct sockaddr *)&address, &length, SOCK_CLOEXEC);
	struct pending *p;

	if (fd < 0 && (errno == EINTR || errno == EAGAIN || errno == ECONNABORTED))
		return;
	s->full = fd < 0;
	if (s->full) {
		log__line("cannot take a connection: %m");
		return;
	}
	p = make_place(s, &address);
	*p = (struct pending){.fd = fd, .until_ns = now_ns() + PENDING_NS, .address = address};
	name(p, length);
}

/* Once: who asks again is refused. */
static const char *challenge(const struct server *s, struct pending *p)
{
	struct wire_hello h = {.kind = WIRE_CHALLENGE};

	wire__random(h.secret);
	if (wire__send_hello(p->fd, &h, NULL))
		return "it reads nothing";
	wire__agree(s->key, &p->control, &h, p->secret);
	return NULL;
}

/* A sender that begins when another has ended does not have to try twice. */
static const char *begin(struct server *s, struct pending *p)
{
	const char *why = "busy with another sender";

	if (s->session && session__is_closed(s->session)) {
		session__end(s->session, "");
		s->session = NULL;
	}
	if (!s->session)
		s->session = session__begin(p->fd, &p->control, p->secret, !s->key, s->limits,
					    p->from, &why);
	return why;
}

/* Why it is refused, or NULL: then its place is free, unless it was challenged. */
static const char *hear(struct server *s, struct pending *p)
{
	const struct wire_hello *h = &p->hello;
	bool asked = p->control.kind;

	switch (h->kind) {
	case WIRE_CONTROL:
		if (asked)
			return "it asks twice";
		p->control = *h;
		if (s->key)
			return challenge(s, p);
		wire__random(p->secret);
		return begin(s, p);
	case WIRE_PROOF:
		return asked && wire__is_signed(h, p->secret) ? begin(s, p)
							      : "it has another --key";
	case WIRE_DATA:
		return s->session ? session__join(s->session, p->fd, h) : "no such session";
	default:
		return "no such hello";
	}
}

static void listen_to(struct server *s, struct pending *p)
{
	ssize_t n =
		recv(p->fd, (char *)&p->hello + p->got, sizeof(p->hello) - p->got, MSG_DONTWAIT);
	char text[WIRE_TEXT];
	const char *why;
	int err;

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		turn_away(p, "it said too little");
		return;
	}
	p->got += (size_t)n;
	err = wire__open_hello(&p->hello, p->got);
	if (err == -EAGAIN)
		return;
	p->got = 0;
	if (err == -EBADMSG) {
		turn_away(p, "not a sender of ours");
		return;
	}
	snprintf(text, sizeof(text), "it speaks version %u, we speak %u", p->hello.version,
		 WIRE_VERSION);
	why = err ? text : hear(s, p);
	if (why)
		refuse(p, why);
	else if (p->hello.kind != WIRE_CONTROL || !s->key)
		p->fd = -1;
}

/* Fills events, of each connection where it has its place; for how long to wait for them, in ms. */
static int prepare(struct server *s, struct events *e)
{
	int timeout = s->full ? TICK_MS : s->session || log__is_behind() ? SESSION_LOOK_MS : -1;
	uint64_t now = now_ns();

	for (unsigned int i = 0; i < PENDING_MAX; i++) {
		struct pending *p = &s->each[i];

		if (p->fd >= 0 && now >= p->until_ns)
			turn_away(p, "it said nothing");
		if (p->fd >= 0)
			timeout = TICK_MS;
		e->each[i] = (struct pollfd){.fd = p->fd, .events = POLLIN};
	}
	session__prepare(s->session, e->session);
	e->listener = (struct pollfd){.fd = s->full ? -1 : s->listener, .events = POLLIN};
	e->stop = (struct pollfd){.fd = s->stop, .events = POLLIN};
	s->full = false;
	return timeout;
}

static void serve(struct server *s, const struct events *e)
{
	const char *why = s->session ? session__go_on(s->session, e->session) : NULL;

	if (why) {
		session__end(s->session, why);
		s->session = NULL;
	}
	for (unsigned int i = 0; i < PENDING_MAX; i++)
		if (e->each[i].revents)
			listen_to(s, &s->each[i]);
	if (e->listener.revents)
		let_in(s);
}

int pending__serve(int listener, int stop, const struct session_limits *limits,
		   const struct key *key)
{
	struct server *s = calloc(1, sizeof(*s));
	struct events e;
	int err;

	if (!s)
		return -ENOMEM;
	*s = (struct server){.listener = listener, .stop = stop, .limits = limits, .key = key};
	for (unsigned int i = 0; i < PENDING_MAX; i++)
		s->each[i].fd = -1;
	fcntl(listener, F_SETFL, O_NONBLOCK); /* who waited may be gone when it is accepted */
	do {
		int timeout = prepare(s, &e);

		err = poll((struct pollfd *)&e, sizeof(e) / sizeof(struct pollfd), timeout) < 0
			      ? -errno
			      : 0;
		if (!err && !e.stop.revents)
			serve(s, &e);
	} while (err == -EINTR || (!err && !e.stop.revents));
	free(s);
	return err;
}
