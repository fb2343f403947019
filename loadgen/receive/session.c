/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One thread conducts a session and waits for nothing: what does not come or go at once does so
 * when poll() says that it can. Each of its connections has a thread of its own; whatever the
 * sender says makes no more of them.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "loadgen/load.h"
#include "loadgen/receive/receiver.h"
#include "loadgen/receive/session.h"
#include "loadgen/send/sender.h"
#include "loadgen/system/log.h"

#define SECOND_NS 1000000000ULL
#define HALF_NS	  (5 * SECOND_NS)   /* for the rest of a message, and to read a reply */
#define SILENT_NS (30 * SECOND_NS)  /* a sender that lives says something each 5 s */
#define IDLE_NS	  (120 * SECOND_NS) /* and sends something in this time */

struct connection {
	bool taken;
	pthread_t thread;
	uint32_t expected; /* the number of an EXPECT that is not answered yet; 0: none */
	uint64_t bytes;	   /* that it expects */
};

struct session {
	struct receiver_process process;
	const struct session_limits *limits;
	uint8_t secret[SECRET_BYTES];
	char from[WIRE_TEXT];
	int control;
	int event;		/* written when a connection may have what is expected of it */
	struct wire_message in; /* so much of it came */
	size_t got;
	struct wire_message out; /* so much of it waits to go: nothing is read until it went */
	size_t left;
	uint32_t number; /* of the last message */
	uint64_t begin_ns, half_ns, heard_ns, moved_ns, looked_ns;
	uint64_t received; /* when it moved last */
	struct connection each[];
};

static int flush(struct session *s)
{
	const char *rest = (char *)(&s->out + 1) - s->left;
	ssize_t n = send(s->control, rest, s->left, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	s->left -= (size_t)n;
	return 0;
}

static int reply(struct session *s, const struct wire_message *m)
{
	s->out = *m;
	s->out.type |= WIRE_REPLY;
	wire__seal(&s->out, s->secret);
	s->left = sizeof(s->out);
	s->half_ns = now_ns();
	return flush(s);
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

/* Answers what is expected of a slot, once it has come or never will. */
static int answer(struct session *s, unsigned int slot)
{
	struct connection *c = &s->each[slot];
	struct wire_message m = {.type = WIRE_EXPECT, .number = c->expected, .slot = slot};

	if (!c->expected)
		return 0;
	fill_state(s, &m);
	if (m.values[STATE_RECEIVED] < c->bytes && !m.values[STATE_ENDED])
		return 0;
	c->expected = 0;
	atomic_store(&s->process.slots[slot].wanted, 0);
	return reply(s, &m);
}

/* Those that find no room for their answers have another event. */
static int answer_all(struct session *s)
{
	eventfd_t count;
	int err = 0;

	eventfd_read(s->event, &count);
	for (unsigned int i = 0; i < s->process.slot_count && !err && !s->left; i++)
		err = answer(s, i);
	if (s->left)
		eventfd_write(s->event, 1);
	return err;
}

/* One at a time: who asks for more does not wait for its answers. */
static int expect(struct session *s, const struct wire_message *m)
{
	struct connection *c = &s->each[m->slot];

	if (c->expected)
		return -EPROTO;
	c->expected = m->number;
	c->bytes = m->values[0];
	atomic_store(&s->process.slots[m->slot].wanted, c->bytes);
	return answer(s, m->slot);
}

/* Executes a message and replies to it. -EPROTO: there is no such message. */
static int handle(struct session *s, struct wire_message *m)
{
	struct cpu_time t;

	if (m->slot >= s->process.slot_count || m->number != ++s->number)
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
	return reply(s, m);
}

/* -EPIPE: the sender has closed. */
static int read_control(struct session *s)
{
	ssize_t n = recv(s->control, (char *)&s->in + s->got, sizeof(s->in) - s->got, MSG_DONTWAIT);
	int err;

	if (n <= 0)
		return !n || errno == ECONNRESET ? -EPIPE : errno == EAGAIN ? 0 : -errno;
	s->heard_ns = now_ns();
	if (!s->got)
		s->half_ns = s->heard_ns;
	s->got += (size_t)n;
	if (s->got < sizeof(s->in))
		return 0;
	s->got = 0;
	err = wire__open(&s->in, s->secret);
	return err ? err : handle(s, &s->in);
}

/* Why it ends, by what passed and what came; NULL: it goes on. */
static const char *exceeds(struct session *s)
{
	uint64_t now = now_ns(), received = 0;

	if (now - s->looked_ns < SESSION_LOOK_MS * 1000000ULL)
		return NULL;
	s->looked_ns = now;
	for (unsigned int i = 0; i < s->process.slot_count; i++)
		received += atomic_load(&s->process.slots[i].received);
	if (received != s->received)
		s->moved_ns = now;
	s->received = received;
	if ((s->got || s->left) && now - s->half_ns > HALF_NS)
		return s->left ? "it reads no replies" : "half a message";
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

void session__prepare(const struct session *s, struct pollfd events[2])
{
	events[0] = (struct pollfd){s ? s->control : -1, s && s->left ? POLLOUT : POLLIN, 0};
	events[1] = (struct pollfd){s && !s->left ? s->event : -1, POLLIN, 0};
}

const char *session__go_on(struct session *s, const struct pollfd events[2])
{
	int err = 0;

	if (s->left && events[0].revents)
		err = flush(s);
	else if (events[1].revents)
		err = answer_all(s);
	if (!err && !s->left && events[0].revents)
		err = read_control(s);
	if (err)
		return err == -EPIPE ? "" : strerror(-err);
	return exceeds(s);
}

bool session__is_closed(const struct session *s)
{
	struct pollfd p = {.fd = s->control, .events = POLLRDHUP};

	return poll(&p, 1, 0) > 0 && p.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

static int accept_hello(int fd, const struct wire_hello *to, const uint8_t *secret, bool tell)
{
	struct wire_hello h = {
		.kind = WIRE_ACCEPTED, .slot = to->slot, .connection = to->connection};
	struct utsname u;

	uname(&u);
	memcpy(h.secret, secret, sizeof(h.secret));
	snprintf(h.text, sizeof(h.text), "%.8s %.40s %.16s, loadgen %s", u.sysname, u.release,
		 u.machine, SENDPATH_VERSION);
	return wire__send_hello(fd, &h, tell ? NULL : secret);
}

static bool possible(const struct wire_hello *h)
{
	if (!h->slot || h->slot > THREADS_MAX || h->message_bytes < MESSAGE_MIN ||
	    h->message_bytes > MESSAGE_MAX)
		return false;
	return !h->picked_from || (h->fields && h->fields <= FIELDS_MAX &&
				   h->fields <= h->message_bytes && h->fields <= h->picked_from);
}

static void free_session(struct session *s)
{
	if (s->event >= 0)
		close(s->event);
	slot__unmap(s->process.slots, s->process.slot_count);
	free(s);
}

/* Of a hello whose numbers were looked at. NULL when something cannot be had. */
static struct session *create(const struct wire_hello *h)
{
	struct session *s = calloc(1, sizeof(*s) + h->slot * sizeof(s->each[0]));

	if (!s)
		return NULL;
	s->process = (struct receiver_process){
		.slots = slot__map(h->slot),
		.slot_count = h->slot,
		.message_bytes = h->message_bytes,
		.picker = {h->picked_from, h->seed, h->fields, h->flags & WIRE_RANDOM},
		.verify = h->flags & WIRE_VERIFY,
		.marks = h->flags & WIRE_MARKS,
	};
	s->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!s->process.slots || s->event < 0) {
		free_session(s);
		return NULL;
	}
	for (unsigned int i = 0; i < h->slot; i++)
		s->process.slots[i].event = s->event;
	return s;
}

struct session *session__begin(int fd, const struct wire_hello *control, const uint8_t *secret,
			       bool tell, const struct session_limits *limits, const char *from,
			       const char **why)
{
	struct session *s = possible(control) ? create(control) : NULL;

	*why = !s ? possible(control) ? "out of memory or descriptors" : "no such load" : NULL;
	if (s && accept_hello(fd, control, secret, tell)) {
		*why = "it reads nothing";
		free_session(s);
	}
	if (*why)
		return NULL;
	memcpy(s->secret, secret, sizeof(s->secret));
	snprintf(s->from, sizeof(s->from), "%s", from);
	s->limits = limits;
	s->control = fd;
	s->begin_ns = s->heard_ns = s->moved_ns = s->looked_ns = now_ns();
	log__line("%s sends", s->from);
	return s;
}

const char *session__join(struct session *s, int fd, const struct wire_hello *data)
{
	struct connection *c;

	if (!wire__is_signed(data, s->secret))
		return "no such session";
	if (data->slot >= s->process.slot_count || s->each[data->slot].taken)
		return "no such connection";
	c = &s->each[data->slot];
	if (receiver_process__start(&s->process, fd, data->slot, data->connection, &c->thread))
		return "no thread for it";
	c->taken = true;
	if (accept_hello(fd, data, s->secret, false))
		shutdown(fd, SHUT_RDWR);
	return NULL;
}

/* Nobody else opens files meanwhile: what a thread has closed by itself is nobody's. */
void session__end(struct session *s, const char *why)
{
	log__line("%s is done%s%s", s->from, *why ? ": " : "", why);
	for (unsigned int i = 0; i < s->process.slot_count; i++) {
		int fd = atomic_load(&s->process.slots[i].socket);

		if (fd)
			shutdown(fd, SHUT_RDWR);
	}
	for (unsigned int i = 0; i < s->process.slot_count; i++)
		if (s->each[i].taken)
			pthread_join(s->each[i].thread, NULL);
	close(s->control);
	free_session(s);
}
