/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The first words on every connection, and who may have a session. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "loadgen/load.h"
#include "loadgen/receive/session.h"
#include "loadgen/receive/sessions.h"

#define HELLO_TIMEOUT_MS  2000
#define SILENT_TIMEOUT_MS 30000 /* a sender that lives looks more often while it waits */

struct sessions {
	pthread_mutex_t lock;
	struct session *current;
	uint32_t last_id;
};

struct sessions *sessions__create(void)
{
	struct sessions *all = calloc(1, sizeof(*all));

	if (all)
		pthread_mutex_init(&all->lock, NULL);
	return all;
}

static void refuse(int fd, const char *from, const char *why)
{
	struct wire_hello h = {.version = WIRE_VERSION, .kind = WIRE_REFUSED};

	snprintf(h.text, sizeof(h.text), "%s", why);
	wire__send_hello(fd, &h);
	fprintf(stderr, "loadgen: %s refused: %s\n", from, why);
}

static void accept_hello(int fd, uint32_t session)
{
	struct wire_hello h = {.version = WIRE_VERSION, .kind = WIRE_ACCEPTED, .session = session};
	struct utsname u;

	uname(&u);
	snprintf(h.text, sizeof(h.text), "%.8s %.40s %.16s, loadgen %s", u.sysname, u.release,
		 u.machine, SENDPATH_VERSION);
	wire__send_hello(fd, &h);
}

/* A machine that vanished says no goodbye: after 30 s of silence it is asked thrice. */
static void keep_alive(int fd)
{
	int on = 1, idle = 30, interval = 5, count = 3;

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

static bool possible(const struct wire_hello *h)
{
	if (!h->slot || h->slot > THREADS_MAX || h->message_bytes < MESSAGE_MIN ||
	    h->message_bytes > MESSAGE_MAX)
		return false;
	return !h->picked_from || (h->fields && h->fields <= FIELDS_MAX &&
				   h->fields <= h->message_bytes && h->fields <= h->picked_from);
}

static void conduct(struct sessions *all, int fd, const struct wire_hello *h, const char *from)
{
	struct session *s = NULL;
	const char *why = NULL;
	struct wire_message m;
	int err;

	if (!possible(h))
		why = "no such load";
	pthread_mutex_lock(&all->lock);
	if (!why && all->current)
		why = "busy with another sender";
	if (!why && !(s = session__create(fd, h, all->last_id + 1)))
		why = "out of memory";
	if (s) {
		all->current = s;
		all->last_id++;
	}
	pthread_mutex_unlock(&all->lock);
	if (why) {
		refuse(fd, from, why);
		return;
	}
	keep_alive(fd);
	accept_hello(fd, s->id);
	fprintf(stderr, "loadgen: %s sends\n", from);
	do {
		err = wire__read(fd, &m, SILENT_TIMEOUT_MS);
		/* Sending for long, it has no reason to ask; its end would show. */
		if (err == -ETIMEDOUT)
			err = 0;
		else if (!err)
			err = session__handle(s, &m);
	} while (!err);
	pthread_mutex_lock(&all->lock);
	all->current = NULL; /* no connection joins any more */
	pthread_mutex_unlock(&all->lock);
	session__end(s);
	fprintf(stderr, "loadgen: %s is done%s%s\n", from, err == -EPIPE ? "" : ": ",
		err == -EPIPE ? "" : strerror(-err));
}

/* True: a receiving thread has the socket now. */
static bool join(struct sessions *all, int fd, const struct wire_hello *h, const char *from)
{
	struct session *s;
	const char *why = NULL;
	int err;

	pthread_mutex_lock(&all->lock);
	s = all->current;
	if (!s || s->id != h->session)
		why = "no such session";
	else if (h->slot >= s->process.slot_count || s->taken[h->slot])
		why = "no such connection";
	if (!why) {
		accept_hello(fd, s->id);
		err = receiver_process__take(&s->process, fd, h->slot, h->connection);
		s->taken[h->slot] = !err;
		why = err ? "no thread for it" : NULL;
	}
	pthread_mutex_unlock(&all->lock);
	if (why)
		refuse(fd, from, why);
	return !why;
}

void sessions__take(struct sessions *all, int fd, const char *from)
{
	struct wire_hello h;
	int err = wire__read_hello(fd, &h, HELLO_TIMEOUT_MS);
	char why[WIRE_TEXT];

	if (err == -EPROTO) {
		snprintf(why, sizeof(why), "it speaks version %u, we speak %u", h.version,
			 WIRE_VERSION);
		refuse(fd, from, why);
	} else if (err) {
		fprintf(stderr, "loadgen: %s turned away: %s\n", from,
			err == -ETIMEDOUT ? "it said nothing"
			: err == -EPIPE	  ? "it said too little"
					  : "not a sender of ours");
	} else if (h.kind == WIRE_CONTROL) {
		conduct(all, fd, &h, from);
	} else if (h.kind == WIRE_DATA) {
		if (join(all, fd, &h, from))
			return;
	} else {
		refuse(fd, from, "no such hello");
	}
	close(fd);
}
