/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections that have not said yet what they want, and that of the one sender there may be. One
 * thread hears them all and waits for none: a pending connection has a place in a table of fixed
 * size for a short time, whatever it says, and is sent two messages at most. Who comes when the
 * table is full takes the place of the oldest. So no number of strangers keeps a sender out for
 * long, or costs more than the table.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "loadgen/receive/session.h"
#include "loadgen/send/sender.h"
#include "loadgen/system/listener.h"
#include "loadgen/system/log.h"

#define PENDING_MAX 64
#define ADDRESS_MAX 16		  /* of them from one address, when all places are taken */
#define PENDING_NS  2000000000ULL /* from its being accepted to its last message */
#define HALF_NS	    5000000000ULL /* for the rest of a sender's message, and to read a reply */
#define TICK_MS	    100		  /* how often that is looked at; after no descriptor was free */

struct caller {
	int fd;		   /* -1: the place is free */
	uint64_t since_ns; /* it was accepted; of the sender: nothing was under way */
	struct sockaddr_storage address;
	char name[ADDRESS_NAME];
	struct wire_message said; /* so much of it came */
	size_t got;
	bool challenged;
	uint8_t secret[SECRET_BYTES];
};

struct server {
	int listener, stop;
	bool full; /* no descriptor was free */
	const struct key *key;
	struct session session;
	struct caller *sender; /* has the session; NULL: nobody */
	struct caller each[PENDING_MAX + 1];
};

struct events {
	struct pollfd each[PENDING_MAX + 1], session, listener, stop;
};

static void leave(struct caller *c, const char *how, const char *why)
{
	log__line("%s %s%s%s", c->name, how, *why ? ": " : "", why);
	close(c->fd);
	c->fd = -1;
}

static void refuse(struct caller *c, const char *why)
{
	struct wire_message m = {.q = {.type = WIRE_REPLY, .err = -ECONNREFUSED}};

	snprintf(m.text, sizeof(m.text), "%s", why);
	wire__send(c->fd, &m, NULL);
	leave(c, "refused", why);
}

static void end_session(struct server *s, const char *why)
{
	leave(s->sender, "is done", why);
	s->sender = NULL;
	session__end(&s->session);
}

/* A free place; else that of the oldest: of the same address, if that has many. */
static struct caller *make_place(struct server *s, const struct sockaddr_storage *address)
{
	struct caller *oldest[2] = {0}; /* of all, and of the same address */
	unsigned int neighbours = 0;

	/* All but the sender's, which is one more. */
	for (struct caller *c = s->each; c < s->each + PENDING_MAX + !!s->sender; c++) {
		bool same = listener__same_host(&c->address, address);

		if (c == s->sender)
			continue;
		if (c->fd < 0)
			return c;
		neighbours += same;
		for (int i = 0; i <= same; i++)
			if (!oldest[i] || c->since_ns < oldest[i]->since_ns)
				oldest[i] = c;
	}
	leave(oldest[neighbours >= ADDRESS_MAX], "turned away", "others wait, too");
	return oldest[neighbours >= ADDRESS_MAX];
}

/* What cannot be had now may be had later: a descriptor, memory. */
static void let_in(struct server *s)
{
	struct sockaddr_storage address = {0};
	socklen_t length = sizeof(address);
	int fd = accept4(s->listener, (struct sockaddr *)&address, &length, SOCK_CLOEXEC);
	struct caller *c;

	if (fd < 0 && (errno == EINTR || errno == EAGAIN || errno == ECONNABORTED))
		return;
	s->full = fd < 0;
	if (s->full) {
		log__line("cannot take a connection: %m");
		return;
	}
	c = make_place(s, &address);
	*c = (struct caller){.fd = fd, .since_ns = now_ns(), .address = address};
	listener__name(&address, length, c->name);
}

static const char *challenge(const struct server *s, struct caller *c)
{
	struct wire_message m = {.q.type = WIRE_CHALLENGE};

	wire__random(m.proof);
	c->challenged = true;
	if (wire__send(c->fd, &m, NULL))
		return "it reads nothing";
	wire__agree(s->key, &c->said, &m, c->secret); /* as it was completed */
	return NULL;
}

/* A sender that begins when another has closed does not have to try twice. */
static const char *begin(struct server *s, struct caller *c)
{
	struct pollfd closed = {.fd = s->sender ? s->sender->fd : -1, .events = POLLRDHUP};
	struct utsname u;
	const char *why;

	if (poll(&closed, 1, 0) > 0)
		end_session(s, "");
	if (s->sender)
		return "busy with another sender";
	s->session.secret = c->secret;
	s->session.control = c->fd;
	why = session__begin(&s->session, &c->said.q);
	if (why)
		return why;
	s->sender = c;
	log__line("%s sends", c->name);
	uname(&u);
	snprintf(c->said.text, sizeof(c->said.text), "%.8s %.24s %.12s, loadgen %.8s", u.sysname,
		 u.release, u.machine, SENDPATH_VERSION);
	memcpy(c->said.proof, c->secret, sizeof(c->secret)); /* who has no key is told it */
	if (wire__reply(c->fd, &c->said, s->key ? c->secret : NULL))
		end_session(s, "it reads nothing");
	return NULL;
}

/* Why it is refused, or NULL. */
static const char *hear(struct server *s, struct caller *c)
{
	const char *why;

	switch (c->said.q.type) {
	case WIRE_CONTROL:
		if (c->challenged)
			return "it asks twice";
		if (s->key)
			return challenge(s, c);
		wire__random(c->secret);
		return begin(s, c);
	case WIRE_PROOF:
		if (!c->challenged || !wire__is_signed(&c->said, c->secret))
			return "it has another --key";
		return begin(s, c);
	case WIRE_DATA:
		why = s->sender ? session__join(&s->session, c->fd, &c->said) : "no such session";
		c->fd = why ? c->fd : -1;
		return why;
	default:
		return "no such message";
	}
}

/* Of the sender nothing is read while there is no room for the reply. */
static void listen_to(struct server *s, struct caller *c)
{
	bool sends = c == s->sender;
	int err = sends && !wire__has_room(c->fd, 0) ? -EAGAIN
						     : wire__receive(c->fd, &c->said, &c->got);
	char text[WIRE_TEXT];
	const char *why;

	if (err == -EAGAIN)
		return;
	if (sends) {
		err = err ? err : session__handle(&s->session, &c->said);
		if (err)
			end_session(s, err == -EPIPE ? "" : strerror(-err));
		return;
	}
	if (err && err != -EPROTO) {
		leave(c, "turned away",
		      err == -EBADMSG ? "not a sender of ours" : "it said too little");
		return;
	}
	snprintf(text, sizeof(text), "it speaks version %u, we speak %u", c->said.version,
		 WIRE_VERSION);
	why = err ? text : hear(s, c);
	if (why)
		refuse(c, why);
}

/* For what to wait; whose time is over is ended. */
static short look_at(struct server *s, struct caller *c, uint64_t now)
{
	bool sends = c == s->sender, room = !sends || wire__has_room(c->fd, 0);

	if (sends && room && !c->got)
		c->since_ns = now;
	if (now - c->since_ns < (sends ? HALF_NS : PENDING_NS))
		return room ? POLLIN : POLLOUT;
	if (sends)
		end_session(s, room ? "half a message" : "it reads no replies");
	else
		leave(c, "turned away", "it said nothing");
	return 0;
}

/* Fills events, of each connection where it has its place; for how long to wait for them, in ms. */
static int prepare(struct server *s, struct events *e)
{
	int timeout = s->full ? TICK_MS : s->sender || log__is_behind() ? WIRE_LOOK_MS : -1;
	uint64_t now = now_ns();

	e->session = (struct pollfd){.fd = -1};
	for (unsigned int i = 0; i <= PENDING_MAX; i++) {
		struct caller *c = &s->each[i];
		short events = c->fd >= 0 ? look_at(s, c, now) : 0;

		e->each[i] = (struct pollfd){.fd = c->fd, .events = events};
		if (c->fd >= 0 && c != s->sender)
			timeout = TICK_MS;
		if (c == s->sender && events == POLLIN)
			e->session = (struct pollfd){.fd = s->session.event, .events = POLLIN};
	}
	e->listener = (struct pollfd){.fd = s->full ? -1 : s->listener, .events = POLLIN};
	e->stop = (struct pollfd){.fd = s->stop, .events = POLLIN};
	s->full = false;
	return timeout;
}

static void serve(struct server *s, const struct events *e)
{
	const char *why = s->sender ? session__go_on(&s->session) : NULL;

	if (why)
		end_session(s, why);
	for (unsigned int i = 0; i <= PENDING_MAX; i++)
		if (s->each[i].fd >= 0 && e->each[i].revents & ~POLLOUT)
			listen_to(s, &s->each[i]);
	if (e->listener.revents)
		let_in(s);
}

int pending__serve(int listener, int stop, const struct session_limits *limits,
		   const struct key *key)
{
	struct server *s = calloc(1, sizeof(*s));
	struct events e = {0};
	int err = 0;

	if (!s)
		return -ENOMEM;
	*s = (struct server){.listener = listener, .stop = stop, .key = key};
	s->session.limits = limits;
	for (unsigned int i = 0; i <= PENDING_MAX; i++)
		s->each[i].fd = -1;
	fcntl(listener, F_SETFL, O_NONBLOCK); /* who waited may be gone when it is accepted */
	while (!err && !e.stop.revents) {
		int timeout = prepare(s, &e);

		if (poll((struct pollfd *)&e, sizeof(e) / sizeof(struct pollfd), timeout) < 0)
			err = errno == EINTR ? 0 : -errno;
		else if (!e.stop.revents)
			serve(s, &e);
	}
	if (s->sender)
		end_session(s, "interrupted");
	free(s);
	return err;
}
