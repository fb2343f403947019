/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A session: its messages, its connections, its end; and which sender may have one. */
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
#include "loadgen/receive/peer.h"
#include "loadgen/receive/receiver_process.h"
#include "loadgen/receive/wire.h"

#define HELLO_TIMEOUT_MS  2000
#define SILENT_TIMEOUT_MS 30000 /* a sender that lives looks more often while it waits */

/* One load that is taken from a sender elsewhere. */
struct session {
	struct receiver_process process;
	uint32_t id;
	int control;
	pthread_mutex_t replying;
	unsigned int waiting; /* threads that will still reply; guarded by replying */
	pthread_cond_t waited;
	bool *taken; /* slots that got their connection */
};

struct sessions {
	pthread_mutex_t lock;
	struct session *current;
	uint32_t last_id;
};

static void reply(struct session *s, struct wire_message *m)
{
	pthread_mutex_lock(&s->replying);
	wire__send(s->control, m);
	pthread_mutex_unlock(&s->replying);
}

static void fill_state(const struct session *s, struct wire_message *m)
{
	const struct slot *slot = &s->process.slots[m->slot];
	uint64_t *v = m->values;

	v[STATE_ENDED] = atomic_load(&slot->ended); /* before what came until then */
	v[STATE_RECEIVED] = atomic_load(&slot->received);
	v[STATE_CHECKED] = slot->verified.checked;
	v[STATE_BAD] = slot->verified.bad;
	v[STATE_MESSAGE] = slot->verified.first.message;
	v[STATE_OFFSET] = slot->verified.first.offset;
	v[STATE_BYTES] = (uint64_t)slot->verified.first.expected << 8 | slot->verified.first.got;
}

struct expectation {
	struct session *session;
	struct wire_message message;
};

/* A thread of its own: connections come to their end each in its time. */
static void *await(void *arg)
{
	struct expectation *e = arg;
	struct session *s = e->session;

	slot__await(&s->process.slots[e->message.slot], e->message.values[0]);
	fill_state(s, &e->message);
	reply(s, &e->message);
	pthread_mutex_lock(&s->replying);
	s->waiting--;
	pthread_cond_signal(&s->waited);
	pthread_mutex_unlock(&s->replying);
	free(e);
	return NULL;
}

static int expect(struct session *s, const struct wire_message *m)
{
	struct expectation *e = malloc(sizeof(*e));
	pthread_t thread;
	int err;

	if (!e)
		return -ENOMEM;
	*e = (struct expectation){s, *m};
	pthread_mutex_lock(&s->replying);
	s->waiting++;
	pthread_mutex_unlock(&s->replying);
	err = pthread_create(&thread, NULL, await, e);
	if (!err) {
		pthread_detach(thread);
		return 0;
	}
	pthread_mutex_lock(&s->replying);
	s->waiting--;
	pthread_mutex_unlock(&s->replying);
	free(e);
	return -err;
}

/* Executes a message and replies to it. -EPROTO: there is no such message. */
static int handle(struct session *s, struct wire_message *m)
{
	struct cpu_time t;

	if (m->slot >= s->process.slot_count)
		return -EPROTO;
	switch (m->type) {
	case WIRE_MARK:
		if (!s->process.marks) /* a receiver that blocks would not hear of it */
			return -EPROTO;
		m->err = receiver_process__mark(&s->process, m->slot, (int)m->values[0]);
		break;
	case WIRE_CPU_TIME:
		t = cpu_time__own();
		m->values[0] = (uint64_t)(t.user_s * 1e6);
		m->values[1] = (uint64_t)(t.system_s * 1e6);
		break;
	case WIRE_EXPECT:
		return expect(s, m);
	case WIRE_STATE:
		fill_state(s, m);
		break;
	default:
		return -EPROTO;
	}
	reply(s, m);
	return 0;
}

/* Of a hello whose numbers were looked at; fd stays the caller's. NULL when out of memory. */
static struct session *create(int fd, const struct wire_hello *h, uint32_t id)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->process.slots = slot__map(h->slot);
	s->process.slot_count = h->slot;
	s->process.message_bytes = h->message_bytes;
	s->process.picker = (struct picker){
		.count = h->picked_from,
		.seed = h->seed,
		.fields = h->fields,
		.random = h->flags & WIRE_RANDOM,
	};
	s->process.verify = h->flags & WIRE_VERIFY;
	s->process.marks = h->flags & WIRE_MARKS;
	s->taken = calloc(h->slot, sizeof(*s->taken));
	if (!s->process.slots || !s->taken) {
		slot__unmap(s->process.slots, h->slot);
		free(s->taken);
		free(s);
		return NULL;
	}
	pthread_mutex_init(&s->replying, NULL);
	pthread_cond_init(&s->waited, NULL);
	s->control = fd;
	s->id = id;
	return s;
}

/* No connection joins any more: waits for every thread that uses it, and frees it. */
static void end(struct session *s)
{
	for (unsigned int i = 0; i < s->process.slot_count; i++) {
		int fd = atomic_load(&s->process.slots[i].socket);

		if (s->taken[i] && fd)
			shutdown(fd, SHUT_RDWR);
		if (!s->taken[i])
			slot__end(&s->process.slots[i]);
	}
	pthread_mutex_lock(&s->replying);
	while (s->waiting)
		pthread_cond_wait(&s->waited, &s->replying);
	pthread_mutex_unlock(&s->replying);
	for (unsigned int i = 0; i < s->process.slot_count; i++)
		if (s->taken[i])
			slot__await(&s->process.slots[i], UINT64_MAX);
	slot__unmap(s->process.slots, s->process.slot_count);
	free(s->taken);
	free(s);
}

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
	if (!why && !(s = create(fd, h, all->last_id + 1)))
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
			err = handle(s, &m);
	} while (!err);
	pthread_mutex_lock(&all->lock);
	all->current = NULL; /* no connection joins any more */
	pthread_mutex_unlock(&all->lock);
	end(s);
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
		err = receiver_process__start(&s->process, fd, h->slot, h->connection);
		s->taken[h->slot] = !err;
		why = err ? "no thread for it" : NULL;
	}
	pthread_mutex_unlock(&all->lock);
	if (why)
		refuse(fd, from, why);
	return !why;
}

void sessions__serve(struct sessions *all, int fd, const char *from)
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
