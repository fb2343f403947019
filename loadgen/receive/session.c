// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Pending connections, which have not identified themselves, and the session of one sender. One
 * thread serves all without blocking. A pending connection has an entry in a table of fixed size
 * for a short time, and gets two messages at most. If the table is full, a new connection replaces
 * the oldest: unauthenticated clients cannot exclude a sender for long, or use more than the table.
 * Each connection of the sender's load has a thread; no message of the sender can start more.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "loadgen/load.h"
#include "loadgen/receive/receiver.h"
#include "loadgen/receive/wire.h"
#include "loadgen/send/sender.h"
#include "loadgen/system/listener.h"
#include "loadgen/system/log.h"

#define PENDING_MAX 64
#define ADDRESS_MAX 16		    /* most from one address when the table is full */
#define PENDING_NS  2000000000ULL   /* time from accept to a complete message */
#define HALF_NS	    5000000000ULL   /* time for the rest of a message, or to read a reply */
#define TICK_MS	    100		    /* how often times are checked; also a wait for descriptors */
#define SILENT_NS   30000000000ULL  /* a live sender sends a message every 5 s */
#define IDLE_NS	    120000000000ULL /* a session without data for this long ends */

struct caller {
	int fd;		   /* -1: the entry is free */
	uint64_t since_ns; /* when it was accepted; the sender: time of its last message */
	struct sockaddr_storage address;
	char name[ADDRESS_NAME];
	struct wire_message message; /* the message so far */
	size_t got;
	bool challenged;
	uint8_t secret[SECRET_BYTES];
};

struct session {
	struct receiver_process process;
	uint32_t number; /* number of the last request */
	uint64_t begin_ns, last_request_ns, moved_ns, checked_ns;
	uint64_t received;	      /* bytes, at moved_ns */
	bool has_thread[THREADS_MAX]; /* the slot has a thread */
	pthread_t threads[THREADS_MAX];
};

struct server {
	int listener, stop;
	int event; /* an eventfd, written when a slot may have the bytes of a STATE */
	bool full; /* descriptors ran out */
	const struct session_limits *limits;
	const struct key *key;
	struct caller sender; /* the sender of the session */
	struct session session;
	struct caller each[PENDING_MAX];
};

struct events {
	struct pollfd each[PENDING_MAX], sender, event, listener, stop;
};

static void close_peer(struct caller *c, const char *how, const char *why)
{
	log__line("%s %s%s%s", c->name, how, *why ? ": " : "", why);
	close(c->fd);
	c->fd = -1;
}

/* Sends the message back as its own reply, signed or not. */
static int reply(int fd, struct wire_message *m, const uint8_t *secret)
{
	m->q.type |= WIRE_REPLY;
	return wire__send(fd, m, secret);
}

static void refuse(struct caller *c, const char *why)
{
	struct wire_message m = {.q = {.type = WIRE_REPLY, .err = -ECONNREFUSED}};

	snprintf(m.text, sizeof(m.text), "%s", why);
	wire__send(c->fd, &m, NULL);
	close_peer(c, "refused", why);
}

/* Ends the session. No other thread opens files, so a closed descriptor was not reused. */
static void end_session(struct server *s, const char *why)
{
	const struct receiver_process *p = &s->session.process;

	close_peer(&s->sender, "is done", why);
	for (unsigned int i = 0; i < p->slot_count; i++) {
		int fd = atomic_load(&p->slots[i].socket);

		if (fd)
			shutdown(fd, SHUT_RDWR);
	}
	for (unsigned int i = 0; i < p->slot_count; i++)
		if (s->session.has_thread[i])
			pthread_join(s->session.threads[i], NULL);
	slot__unmap(p->slots, p->slot_count);
}

/* Returns a free entry, else the oldest of this address if it has many, else the oldest of all. */
static struct caller *find_entry(struct server *s, const struct sockaddr_storage *address)
{
	struct caller *oldest[2] = {0}; /* oldest of all, and of this address */
	unsigned int neighbours = 0;

	for (struct caller *c = s->each; c < s->each + PENDING_MAX; c++) {
		bool same = listener__same_host(&c->address, address);

		if (c->fd < 0)
			return c;
		neighbours += same;
		for (int i = 0; i <= same; i++)
			if (!oldest[i] || c->since_ns < oldest[i]->since_ns)
				oldest[i] = c;
	}
	close_peer(oldest[neighbours >= ADDRESS_MAX], "turned away", "others wait, too");
	return oldest[neighbours >= ADDRESS_MAX];
}

/* Accepts a connection. A lack of descriptors or memory may be temporary. */
static void accept_peer(struct server *s)
{
	struct sockaddr_storage address = {0};
	int fd = listener__accept(s->listener, &address, 0);
	struct caller *c;

	s->full = fd < 0 && fd != -EAGAIN;
	if (s->full)
		log__line("cannot accept a connection: %s", strerror(-fd));
	if (fd < 0)
		return;
	c = find_entry(s, &address);
	*c = (struct caller){.fd = fd, .since_ns = now_ns(), .address = address};
	listener__name(&address, c->name);
}

static const char *challenge(const struct server *s, struct caller *c)
{
	struct wire_message m = {.q = c->message.q};

	if (c->challenged)
		return "it sent CONTROL twice";
	c->challenged = true;
	m.q.values[0] = s->key->bytes > 0;
	wire__random(m.proof);
	if (reply(c->fd, &m, NULL))
		return "it reads nothing";
	wire__agree(s->key, &c->message, &m, c->secret); /* m: the CHALLENGE that was sent */
	return NULL;
}

static bool is_valid_load(const struct request *q)
{
	const uint64_t *v = q->values;

	if (!q->slot || q->slot > THREADS_MAX || v[LOAD_MESSAGE_BYTES] < MESSAGE_MIN ||
	    v[LOAD_MESSAGE_BYTES] > MESSAGE_MAX)
		return false;
	return !v[LOAD_PICKED_FROM] ||
	       (v[LOAD_FIELDS] && v[LOAD_FIELDS] <= FIELDS_MAX &&
		v[LOAD_FIELDS] <= v[LOAD_MESSAGE_BYTES] && v[LOAD_FIELDS] <= v[LOAD_PICKED_FROM]);
}

/* Prepares the load of a PROOF. Returns NULL, or why it is refused. */
static const char *prepare_session(struct server *s, const struct request *proof)
{
	const uint64_t *v = proof->values;
	struct slot *slots = is_valid_load(proof) ? slot__map(proof->slot) : NULL;

	if (!slots)
		return is_valid_load(proof) ? "out of memory" : "no such load";
	s->session = (struct session){
		.process = {.slots = slots,
			    .slot_count = proof->slot,
			    .stream = {.message_bytes = v[LOAD_MESSAGE_BYTES],
				       .picker = {v[LOAD_PICKED_FROM], v[LOAD_SEED],
						  (uint32_t)v[LOAD_FIELDS],
						  v[LOAD_FLAGS] & WIRE_RANDOM}},
			    .verify = v[LOAD_FLAGS] & WIRE_VERIFY,
			    .marks = v[LOAD_FLAGS] & WIRE_MARKS},
	};
	s->session.begin_ns = s->session.last_request_ns = now_ns();
	s->session.moved_ns = s->session.checked_ns = s->session.begin_ns;
	for (unsigned int i = 0; i < proof->slot; i++)
		slots[i].event = s->event;
	return NULL;
}

/* Starts a session. Ends a finished one first, so that the next sender need not retry. */
static const char *begin_session(struct server *s, struct caller *c)
{
	struct pollfd closed = {.fd = s->sender.fd, .events = POLLRDHUP};
	struct utsname u;
	const char *why;

	if (poll(&closed, 1, 0) > 0)
		end_session(s, "");
	if (s->sender.fd >= 0)
		return "busy with another sender";
	why = prepare_session(s, &c->message.q);
	if (why)
		return why;
	log__line("%s sends", c->name);
	uname(&u);
	snprintf(c->message.text, sizeof(c->message.text), "%.8s %.24s %.12s, loadgen %.8s",
		 u.sysname, u.release, u.machine, SENDPATH_VERSION);
	s->sender = *c;
	c->fd = -1;
	if (reply(s->sender.fd, &s->sender.message, s->sender.secret))
		end_session(s, "it reads nothing");
	return NULL;
}

/* Starts receiving on the connection that sent DATA. Returns NULL, or why it is refused. */
static const char *add_connection(struct server *s, struct caller *c)
{
	struct session *session = &s->session;
	unsigned int slot = c->message.q.slot;

	if (s->sender.fd < 0 || !wire__is_signed(&c->message, s->sender.secret))
		return "no such session";
	if (slot >= session->process.slot_count || session->has_thread[slot])
		return "no such connection";
	if (receiver_process__start(&session->process, c->fd, slot,
				    (uint32_t)c->message.q.values[0], &session->threads[slot]))
		return "no thread for it";
	session->has_thread[slot] = true;
	if (reply(c->fd, &c->message, s->sender.secret))
		shutdown(c->fd, SHUT_RDWR);
	c->fd = -1; /* the connection's thread closes it */
	return NULL;
}

/* Handles a pending connection's message. Returns why it is refused, or NULL. */
static const char *handle_message(struct server *s, struct caller *c)
{
	switch (c->message.q.type) {
	case WIRE_CONTROL:
		return challenge(s, c);
	case WIRE_PROOF:
		if (!c->challenged || !wire__is_signed(&c->message, c->secret))
			return "it has another --key";
		return begin_session(s, c);
	case WIRE_DATA:
		return add_connection(s, c);
	default:
		return "no such message";
	}
}

/* Replies to a slot's STATE. The reply is final if the bytes have arrived or never will. */
static int reply_state(struct server *s, unsigned int slot, bool late)
{
	struct slot *from = &s->session.process.slots[slot];
	bool ended = atomic_load(&from->ended); /* read first: if it is set, received is final */
	struct wire_state state = {.received = atomic_load(&from->received)};
	bool last = ended || state.received >= atomic_load(&from->wanted);
	struct wire_message m = {
		.q = {.type = REQUEST_STATE, .slot = slot, .err = ended ? -EPIPE : 0}};

	if (last) { /* until then its thread checks data that do not count as received yet */
		state.found = from->verified.found;
		atomic_store(&from->wanted, 0);
	}
	memcpy(m.q.values, &state, sizeof(state));
	return last || late ? reply(s->sender.fd, &m, s->sender.secret) : 0;
}

/* Executes a request and replies. Returns -EBADMSG: not signed; -EPROTO: impossible. */
static int execute_request(struct server *s, struct wire_message *m)
{
	struct receiver_process *p = &s->session.process;
	struct request *q = &m->q;

	if (!wire__is_signed(m, s->sender.secret))
		return -EBADMSG;
	if (q->slot >= p->slot_count || q->number != ++s->session.number)
		return -EPROTO;
	s->session.last_request_ns = now_ns();
	switch (q->type) {
	case REQUEST_STATE: /* a sender with a second STATE pending does not wait for replies */
		if (atomic_exchange(&p->slots[q->slot].wanted, q->values[0]))
			return -EPROTO;
		return reply_state(s, q->slot, false);
	case REQUEST_MARK:
		if (!p->marks) /* a blocked receiver would not notice the mark */
			return -EPROTO;
		/* fall through */
	case REQUEST_CPU_TIME:
		receiver_process__answer(q, p);
		return reply(s->sender.fd, m, s->sender.secret);
	default:
		return -EPROTO;
	}
}

static void read_from(struct server *s, struct caller *c)
{
	int err = wire__receive(c->fd, &c->message, &c->got);
	char text[WIRE_TEXT];
	const char *why;

	if (err == -EAGAIN)
		return;
	if (err && err != -EPROTO) {
		close_peer(c, "turned away",
			   err == -EBADMSG ? "not a sender of ours"
					   : "its first message is too short");
		return;
	}
	snprintf(text, sizeof(text), "it has version %u, this program %u", c->message.version,
		 WIRE_VERSION);
	why = err ? text : handle_message(s, c);
	if (why)
		refuse(c, why);
}

/* Handles the sender's next request. Reads nothing while there is no room for the reply. */
static void read_from_sender(struct server *s)
{
	struct caller *c = &s->sender;
	int err = wire__has_room(c->fd, 0) ? wire__receive(c->fd, &c->message, &c->got) : -EAGAIN;

	if (!err)
		err = execute_request(s, &c->message);
	if (err && err != -EAGAIN)
		end_session(s, err == -EPIPE ? "" : strerror(-err));
}

/* Collects the events to wait for, and the timeout in ms; ends connections whose time is over. */
static int collect_events(struct server *s, struct events *e)
{
	bool room = wire__has_room(s->sender.fd, 0);
	uint64_t now = now_ns();
	int timeout;

	if (room && !s->sender.got)
		s->sender.since_ns = now;
	if (s->sender.fd >= 0 && now - s->sender.since_ns >= HALF_NS)
		end_session(s, room ? "half a message" : "it reads no replies");
	timeout = s->full ? TICK_MS : s->sender.fd >= 0 || log__is_behind() ? WIRE_LOOK_MS : -1;
	for (unsigned int i = 0; i < PENDING_MAX; i++) {
		struct caller *c = &s->each[i];

		if (c->fd >= 0 && now - c->since_ns >= PENDING_NS)
			close_peer(c, "turned away", "it sent nothing");
		if (c->fd >= 0)
			timeout = TICK_MS;
		e->each[i] = (struct pollfd){.fd = c->fd, .events = POLLIN};
	}
	e->sender = (struct pollfd){.fd = s->sender.fd, .events = room ? POLLIN : POLLOUT};
	e->event = (struct pollfd){.fd = room ? s->event : -1, .events = POLLIN};
	e->listener = (struct pollfd){.fd = s->full ? -1 : s->listener, .events = POLLIN};
	e->stop = (struct pollfd){.fd = s->stop, .events = POLLIN};
	s->full = false;
	return timeout;
}

/* Returns why the session must end, by time or received bytes, or NULL. */
static const char *reason_to_end(struct session *s, const struct session_limits *limits,
				 uint64_t now)
{
	uint64_t received = 0;

	for (unsigned int i = 0; i < s->process.slot_count; i++)
		received += atomic_load(&s->process.slots[i].received);
	if (received != s->received)
		s->moved_ns = now;
	s->received = received;
	s->checked_ns = now;
	if (now - s->last_request_ns > SILENT_NS)
		return "it was silent for 30 s";
	if (now - s->moved_ns > IDLE_NS)
		return "it sent no data for 120 s";
	if (received > limits->bytes)
		return "it sent more than --session-bytes";
	if ((double)(now - s->begin_ns) / 1e9 > limits->seconds)
		return "it took longer than --session-seconds";
	return NULL;
}

/* Replies to the STATE requests whose reply is due. Ends the session at its limits. */
static void continue_session(struct server *s)
{
	const struct receiver_process *p = &s->session.process;
	uint64_t now = now_ns();
	bool late = now - s->session.checked_ns >= WIRE_LOOK_MS * 1000000ULL;
	const char *why = late ? reason_to_end(&s->session, s->limits, now) : NULL;
	eventfd_t count;
	int err = 0;

	eventfd_read(s->event, &count);
	for (unsigned int i = 0; i < p->slot_count && !err; i++)
		if (!atomic_load(&p->slots[i].wanted))
			continue;
		else if (wire__has_room(s->sender.fd, 0))
			err = reply_state(s, i, late);
		else
			eventfd_write(s->event, 1); /* reply to the others in the next round */
	if (err || why)
		end_session(s, why ? why : strerror(-err));
}

static void handle_events(struct server *s, const struct events *e)
{
	if (s->sender.fd >= 0)
		continue_session(s);
	if (s->sender.fd >= 0 && e->sender.revents & ~POLLOUT)
		read_from_sender(s);
	for (unsigned int i = 0; i < PENDING_MAX; i++)
		if (e->each[i].revents)
			read_from(s, &s->each[i]);
	if (e->listener.revents)
		accept_peer(s);
}

int session__serve(int listener, int stop, const struct session_limits *limits,
		   const struct key *key)
{
	struct server *s = calloc(1, sizeof(*s));
	struct events e = {0};
	int err;

	if (!s)
		return -ENOMEM;
	*s = (struct server){.listener = listener,
			     .stop = stop,
			     .event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
			     .limits = limits,
			     .key = key,
			     .sender.fd = -1};
	err = s->event < 0 ? -errno : 0;
	for (unsigned int i = 0; i < PENDING_MAX; i++)
		s->each[i].fd = -1;
	fcntl(listener, F_SETFL, O_NONBLOCK); /* a client may be gone when it is accepted */
	while (!err && !e.stop.revents) {
		int timeout = collect_events(s, &e);

		if (poll((struct pollfd *)&e, sizeof(e) / sizeof(struct pollfd), timeout) < 0)
			err = errno == EINTR ? 0 : -errno;
		else if (!e.stop.revents)
			handle_events(s, &e);
	}
	if (s->sender.fd >= 0)
		end_session(s, "interrupted");
	close(s->event);
	free(s);
	return err;
}
