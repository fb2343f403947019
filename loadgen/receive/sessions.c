/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A session: its messages, its connections, its limits, its end. One thread conducts it and
 * each of its connections has one; whatever its sender says makes no more of them.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "loadgen/load.h"
#include "loadgen/receive/receiver_process.h"
#include "loadgen/receive/sessions.h"
#include "loadgen/send/sender.h"

#define LOOK_MS		   1000 /* how often limits are looked at */
#define MESSAGE_TIMEOUT_MS 5000 /* of the rest of a message */
#define CLOSING_S	   1
#define SILENT_NS	   30000000000ULL  /* a sender that lives says something each 5 s */
#define IDLE_NS		   120000000000ULL /* and sends something in this time */

/* The number of an EXPECT that is not answered yet; 0: none. */
struct expectation {
	uint32_t number;
	uint64_t bytes;
};

/* One load that is taken from a sender elsewhere. */
struct session {
	struct receiver_process process;
	const struct session_limits *limits;
	uint8_t token[SECRET_BYTES];
	char from[sizeof(((struct wire_hello *)0)->text)];
	int control;
	int event;	    /* written when a connection has what is expected of it */
	bool *taken;	    /* slots that got their connection, */
	pthread_t *threads; /* and who receives it */
	struct expectation *expected;
	uint64_t begin_ns, heard_ns, moved_ns;
	uint64_t received; /* when it moved last */
};

struct sessions {
	const struct session_limits *limits;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	struct session *current;
};

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

/* Answers what is expected of a slot, once it has come or never will. 0 or -errno. */
static int answer(struct session *s, unsigned int slot)
{
	struct expectation *e = &s->expected[slot];
	struct wire_message m = {.type = WIRE_EXPECT, .number = e->number, .slot = slot};

	if (!e->number)
		return 0;
	fill_state(s, &m);
	if (m.values[STATE_RECEIVED] < e->bytes && !m.values[STATE_ENDED])
		return 0;
	e->number = 0;
	atomic_store(&s->process.slots[slot].wanted, 0);
	return wire__send(s->control, &m);
}

/* One at a time: who asks for more does not wait for its answers. */
static int expect(struct session *s, const struct wire_message *m)
{
	struct expectation *e = &s->expected[m->slot];

	if (e->number || !m->number)
		return -EPROTO;
	*e = (struct expectation){m->number, m->values[0]};
	atomic_store(&s->process.slots[m->slot].wanted, e->bytes);
	return answer(s, m->slot);
}

static int answer_all(struct session *s)
{
	eventfd_t count;
	int err = 0;

	eventfd_read(s->event, &count);
	for (unsigned int i = 0; i < s->process.slot_count && !err; i++)
		err = answer(s, i);
	return err;
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
	return wire__send(s->control, m);
}

static void free_session(struct session *s)
{
	if (s->event > 0)
		close(s->event);
	slot__unmap(s->process.slots, s->process.slot_count);
	free(s->taken);
	free(s->threads);
	free(s->expected);
	free(s);
}

/* Of a hello whose numbers were looked at. NULL when something cannot be had. */
static struct session *create(int fd, const struct wire_hello *h,
			      const struct session_limits *limits, const char *from)
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
	s->threads = calloc(h->slot, sizeof(*s->threads));
	s->expected = calloc(h->slot, sizeof(*s->expected));
	s->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!s->process.slots || !s->taken || !s->threads || !s->expected || s->event < 0) {
		free_session(s);
		return NULL;
	}
	for (unsigned int i = 0; i < h->slot; i++)
		s->process.slots[i].event = s->event;
	secret__random(s->token);
	snprintf(s->from, sizeof(s->from), "%s", from);
	s->limits = limits;
	s->control = fd;
	s->begin_ns = s->heard_ns = s->moved_ns = now_ns();
	return s;
}

/* No connection joins any more: ends each, waits for its thread, and closes it. */
static void end(struct session *s)
{
	for (unsigned int i = 0; i < s->process.slot_count; i++) {
		int fd = atomic_exchange(&s->process.slots[i].socket, 0);

		if (!s->taken[i])
			continue;
		if (fd)
			shutdown(fd, SHUT_RDWR);
		pthread_join(s->threads[i], NULL);
		if (fd)
			close(fd);
	}
	close(s->control);
	free_session(s);
}

struct sessions *sessions__create(const struct session_limits *limits)
{
	struct sessions *all = calloc(1, sizeof(*all));

	if (all) {
		pthread_mutex_init(&all->lock, NULL);
		pthread_cond_init(&all->ended, NULL);
		all->limits = limits;
	}
	return all;
}

static void accept_hello(int fd, const struct session *s)
{
	struct wire_hello h = {.version = WIRE_VERSION, .kind = WIRE_ACCEPTED};
	struct utsname u;

	uname(&u);
	memcpy(h.secret, s->token, sizeof(h.secret));
	snprintf(h.text, sizeof(h.text), "%.8s %.40s %.16s, loadgen %s", u.sysname, u.release,
		 u.machine, SENDPATH_VERSION);
	wire__send_hello(fd, &h);
}

static bool possible(const struct wire_hello *h)
{
	if (!h->slot || h->slot > THREADS_MAX || h->message_bytes < MESSAGE_MIN ||
	    h->message_bytes > MESSAGE_MAX)
		return false;
	return !h->picked_from || (h->fields && h->fields <= FIELDS_MAX &&
				   h->fields <= h->message_bytes && h->fields <= h->picked_from);
}

/* Why it ends, by what passed and what came; NULL: it goes on. */
static const char *exceeds(struct session *s)
{
	uint64_t now = now_ns(), received = 0;

	for (unsigned int i = 0; i < s->process.slot_count; i++)
		received += atomic_load(&s->process.slots[i].received);
	if (received != s->received)
		s->moved_ns = now;
	s->received = received;
	if (now - s->heard_ns > SILENT_NS)
		return "it said nothing for 30 s";
	if (now - s->moved_ns > IDLE_NS)
		return "it sent nothing for 120 s";
	if (received > s->limits->bytes)
		return "it sent more than --session-bytes";
	if ((double)(now - s->begin_ns) / 1e9 > s->limits->seconds)
		return "it took longer than --session-seconds";
	return NULL;
}

/* 0 or -errno; -EPIPE: the sender has closed. */
static int read_control(struct session *s)
{
	struct wire_message m;
	int err = wire__read(s->control, &m, MESSAGE_TIMEOUT_MS);

	s->heard_ns = now_ns();
	return err ? err : handle(s, &m);
}

/* To its end: NULL when the sender closed it, else why. */
static const char *talk(struct session *s)
{
	struct pollfd events[] = {{.fd = s->control, .events = POLLIN},
				  {.fd = s->event, .events = POLLIN}};
	const char *why;
	int n, err;

	for (;;) {
		n = poll(events, 2, LOOK_MS);
		err = n < 0 && errno != EINTR ? -errno : 0;
		if (n > 0 && events[1].revents)
			err = answer_all(s);
		if (n > 0 && !err && events[0].revents)
			err = read_control(s);
		if (err)
			return err == -EPIPE ? NULL : strerror(-err);
		why = exceeds(s);
		if (why)
			return why;
	}
}

static void conduct(struct sessions *all, struct session *s)
{
	const char *why;

	accept_hello(s->control, s);
	serve__log("%s sends", s->from);
	why = talk(s);
	pthread_mutex_lock(&all->lock);
	all->current = NULL; /* no connection joins any more */
	pthread_cond_signal(&all->ended);
	pthread_mutex_unlock(&all->lock);
	serve__log("%s is done%s%s", s->from, why ? ": " : "", why ? why : "");
	end(s);
}

static bool has_closed(const struct session *s)
{
	struct pollfd p = {.fd = s->control, .events = POLLRDHUP};

	return poll(&p, 1, 0) > 0 && p.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

/* A sender that begins when another ended does not have to try twice. */
static bool is_free(struct sessions *all)
{
	struct timespec until;
	int err = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += CLOSING_S;
	while (all->current && !err && has_closed(all->current))
		err = pthread_cond_timedwait(&all->ended, &all->lock, &until);
	return !all->current;
}

/* The session, accepted; NULL with why not. */
static struct session *open_session(struct sessions *all, int fd, const struct wire_hello *h,
				    const char *from, const char **why)
{
	struct session *s = NULL;

	*why = NULL;
	pthread_mutex_lock(&all->lock);
	if (!possible(h))
		*why = "no such load";
	else if (!is_free(all))
		*why = "busy with another sender";
	else if (!(s = create(fd, h, all->limits, from)))
		*why = "out of memory or descriptors";
	else
		all->current = s;
	pthread_mutex_unlock(&all->lock);
	return s;
}

const char *sessions__conduct(struct sessions *all, int fd, const struct wire_hello *h,
			      const char *from)
{
	const char *why;
	struct session *s = open_session(all, fd, h, from, &why);

	if (s)
		conduct(all, s);
	return why;
}

static void *conduct_one(void *arg)
{
	struct sessions *all = arg;

	conduct(all, all->current);
	return NULL;
}

const char *sessions__begin(struct sessions *all, int fd, const struct wire_hello *h,
			    const char *from)
{
	const char *why;
	struct session *s = open_session(all, fd, h, from, &why);
	pthread_t thread;

	if (!s)
		return why;
	if (pthread_create(&thread, NULL, conduct_one, all)) {
		all->current = NULL; /* nobody else has seen it */
		free_session(s);
		return "no thread for it";
	}
	pthread_detach(thread);
	return NULL;
}

const char *sessions__join(struct sessions *all, int fd, const struct wire_hello *h)
{
	const char *why = NULL;
	struct session *s;

	pthread_mutex_lock(&all->lock);
	s = all->current;
	if (!s || !secret__equal(s->token, h->secret))
		why = "no such session";
	else if (h->slot >= s->process.slot_count || s->taken[h->slot])
		why = "no such connection";
	if (!why) {
		accept_hello(fd, s);
		s->taken[h->slot] = !receiver_process__start(&s->process, fd, h->slot,
							     h->connection, &s->threads[h->slot]);
		why = s->taken[h->slot] ? NULL : "no thread for it";
	}
	pthread_mutex_unlock(&all->lock);
	return why;
}
