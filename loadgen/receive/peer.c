/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <netdb.h>
#include <poll.h>
#include <string.h>

#include "common/units.h"
#include "loadgen/data/message.h"
#include "loadgen/load.h"
#include "loadgen/receive/receiver.h"
#include "loadgen/receive/wire.h"
#include "loadgen/send/sender.h"
#include "loadgen/system/listener.h"

#define TIMEOUT_MS 5000
#define TRIES	   8
#define ALIVE_NS   5000000000ULL /* so often the peer gets a message, which keeps the session */
#define TICK_US	   20000	 /* CPU time may be counted in ticks */

struct agent {
	const struct receiver_process *r; /* its listener is the conversation with the peer */
	const struct peer *peer;
	struct failure *f;
	struct request asked; /* the last request that awaits its reply; number 0: none */
	uint32_t number;      /* of the last request */
	uint64_t said_ns;
	uint64_t time_us[2], time_ns; /* the last CPU time that it reported, and when */
};

#define fail_peer(p, f, err, format, ...) \
	failure__set(f, STATUS_FAILED, err, "--peer %s: " format, (p)->name, ##__VA_ARGS__)

/* The peer was not reached, or answered nothing, or with another version. */
static int explain(const struct peer *p, const struct wire_message *m, int err, struct failure *f)
{
	if (err == -EPROTO && m) /* connect() can fail so, too */
		return fail_peer(p, f, err,
				 "it speaks version %u, this program %u: install the same version "
				 "on both machines",
				 m->version, WIRE_VERSION);
	return fail_peer(p, f, err, "%s: does loadgen serve run there?",
			 err == -ETIMEDOUT ? "it does not answer"
			 : err == -EPIPE   ? "it closed the connection"
			 : err == -EBADMSG ? "another program answers there"
					   : strerror(-err));
}

static int disbelieve(const struct peer *p, const char *what, struct failure *f)
{
	return fail_peer(p, f, -EPROTO, "it reports impossible %s: is it loadgen serve?", what);
}

/* Sends a message, signed or not, and reads its reply, signed alike. */
static int exchange(const struct peer *p, int fd, struct wire_message *said, const uint8_t *secret,
		    struct wire_message *answer, struct failure *f)
{
	char text[WIRE_TEXT];
	int err = wire__send(fd, said, secret);

	if (!err)
		err = wire__await(fd, answer, TIMEOUT_MS);
	if (err)
		return explain(p, answer, err, f);
	if (answer->q.err)
		return fail_peer(p, f, -ECONNREFUSED, "it refuses: %s",
				 safe_text(answer->text, text, sizeof(text)));
	if (secret && !wire__is_signed(answer, secret))
		return fail_peer(p, f, -EACCES, "it has not proved that it knows the --key");
	if (answer->q.type != (said->q.type | WIRE_REPLY) || answer->q.slot != said->q.slot)
		return disbelieve(p, "answers", f);
	return 0;
}

/* Each end proves that it has the key, for this load. */
int peer__greet(struct peer *p, int fd, const struct load *load, struct failure *f)
{
	struct picker picker = dataset__picker(load);
	uint32_t flags = (load->verify ? WIRE_VERIFY : 0) | (picker.random ? WIRE_RANDOM : 0) |
			 (load->rcvlowat > 1 ? WIRE_MARKS : 0);
	struct wire_message answer = {0},
			    control = {.q = {.type = WIRE_CONTROL,
					     .slot = load->threads,
					     .values = {load->message_bytes, flags, picker.fields,
							picker.count, picker.seed}}};
	struct key key = {0};
	int err = load->key ? key__read(&key, load->key, f) : 0;

	wire__random(control.proof);
	if (!err)
		err = exchange(p, fd, &control, NULL, &answer, f);
	if (!err && !key.bytes != !answer.q.values[0])
		err = fail_peer(p, f, -EACCES, "%s",
				key.bytes
					? "it asks for no key: give it the same --key, or leave "
					  "--key out here"
					: "it asks for a key: give --key FILE, the same as there");
	if (err)
		return err;
	wire__agree(&key, &control, &answer, p->secret);
	control.q.type = WIRE_PROOF;
	err = exchange(p, fd, &control, p->secret, &answer, f);
	safe_text(answer.text, p->machine, sizeof(p->machine));
	return err;
}

/* A receiver with many pending connections may close one that had no time to identify itself. */
static int open_at(struct peer *p, struct listener *l, const struct load *load, struct failure *f)
{
	struct load plain = *load; /* socket options are for the connections of the load */
	struct failure why = {0};
	int err = -EPIPE;

	plain.socket = (struct socket_options){0};
	for (int i = 0; i < TRIES && err == -EPIPE; i++) {
		listener__close(l);
		*f = (struct failure){0};
		l->fd = listener__connect(l, &plain, &why);
		err = l->fd < 0 ? explain(p, NULL, l->fd, f) : peer__greet(p, l->fd, load, f);
	}
	return err;
}

/* A host may listen at one of its addresses only. */
int peer__open(struct peer *p, struct listener *l, const struct load *load, struct failure *f)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *all;
	char host[256], port[8];
	int err;

	*p = (struct peer){.name = load->peer};
	*l = (struct listener){.fd = -1};
	units__endpoint(load->peer, host, sizeof(host), port); /* the option was checked */
	err = getaddrinfo(host, port, &hints, &all);
	if (err)
		return fail_peer(p, f, -EINVAL, "%s", gai_strerror(err));
	for (struct addrinfo *at = all; at && l->fd < 0; at = at->ai_next) {
		memcpy(&l->address, at->ai_addr, at->ai_addrlen);
		l->length = at->ai_addrlen;
		err = open_at(p, l, load, f);
	}
	freeaddrinfo(all);
	return err;
}

int peer__introduce(const struct peer *p, int fd, unsigned int slot, uint32_t connection,
		    struct failure *f)
{
	struct wire_message answer = {0},
			    said = {.q = {.type = WIRE_DATA, .slot = slot, .values = {connection}}};

	return exchange(p, fd, &said, p->secret, &answer, f);
}

/* Can a slot's receiver have counted this, given what was sent? */
static bool possible(const struct receiver_process *r, const struct slot *slot,
		     const struct wire_state *s)
{
	const struct pattern_verdict *v = &s->found;
	size_t bytes = r->stream.message_bytes;

	return s->received >= atomic_load(&slot->received) && v->checked <= s->received &&
	       (r->verify || !v->checked) && v->bad <= v->checked &&
	       v->message <= s->received / bytes && v->offset < bytes && v->expected <= UINT8_MAX &&
	       v->got <= UINT8_MAX;
}

static const char *publish(struct agent *a, const struct request *q)
{
	struct slot *slot = &a->r->slots[q->slot];
	struct wire_state state;

	memcpy(&state, q->values, sizeof(state));
	if (!possible(a->r, slot, &state))
		return "numbers";
	if (state.found.checked) /* in the last reply only */
		slot->verified.found = state.found;
	slot__publish(slot, state.received);
	if (q->err)
		slot__end(slot);
	return NULL;
}

/*
 * The peer's process has one thread per connection and one more. Since its last report, each cannot
 * have used more CPU time than passed by our clock.
 */
static bool is_later(struct agent *a, const uint64_t *time_us)
{
	uint64_t most = (now_ns() - a->time_ns) / 1000 + TICK_US;

	for (int i = 0; i < 2; i++)
		if (a->time_ns && (time_us[i] < a->time_us[i] ||
				   (time_us[i] - a->time_us[i]) / (a->r->slot_count + 1) > most))
			return false;
	memcpy(a->time_us, time_us, sizeof(a->time_us));
	a->time_ns = a->said_ns;
	return true;
}

/* Applies a reply. Returns what is impossible in it, or NULL. */
static const char *believe(struct agent *a, const struct wire_message *m)
{
	const struct request *q = &m->q;

	if (!wire__is_signed(m, a->peer->secret) || q->slot >= a->r->slot_count || q->err > 0 ||
	    q->err < -4095)
		return "answers";
	if (q->type == (REQUEST_STATE | WIRE_REPLY))
		return publish(a, q);
	if (!q->number || q->number != a->asked.number || q->type != (a->asked.type | WIRE_REPLY))
		return "answers";
	a->asked.number = 0;
	if (a->asked.type == REQUEST_CPU_TIME && (q->err || !is_later(a, q->values)))
		return "processor time";
	return NULL;
}

static void hear(struct agent *a, struct wire_message *m)
{
	int err = wire__await(a->r->listener, m, TIMEOUT_MS);
	const char *lie = err ? NULL : believe(a, m);

	if (err)
		explain(a->peer, m, err, a->f);
	else if (lie)
		disbelieve(a->peer, lie, a->f);
}

/* Passes a request on. Other replies may come before its own; the reply to STATE comes later. */
static void ask(struct request *q, void *agent)
{
	struct agent *a = agent;
	struct wire_message m = {.q = *q};
	int err = -ETIMEDOUT;

	m.q.number = ++a->number;
	a->said_ns = now_ns();
	if (wire__has_room(a->r->listener, TIMEOUT_MS))
		err = wire__send(a->r->listener, &m, a->peer->secret);
	if (err)
		explain(a->peer, &m, err, a->f);
	else if (q->type != REQUEST_STATE)
		a->asked = m.q;
	while (a->asked.number && !a->f->status)
		if (now_ns() - a->said_ns < TIMEOUT_MS * 1000000ULL)
			hear(a, &m);
		else /* it says other things meanwhile */
			explain(a->peer, &m, -ETIMEDOUT, a->f);
	memcpy(q->values, m.q.values, sizeof(q->values));
	q->err = a->f->status ? -EPIPE : m.q.err;
}

void peer__serve(const struct peer *p, const struct receiver_process *r, struct failure *f)
{
	struct agent a = {.r = r, .peer = p, .f = f, .said_ns = now_ns()};
	struct pollfd events[] = {{.fd = r->channel, .events = POLLIN},
				  {.fd = r->listener, .events = POLLIN}};
	bool goes_on = true;

	while (goes_on && !f->status) {
		struct wire_message m = {.q.type = REQUEST_CPU_TIME};
		int n = poll(events, 2, WIRE_LOOK_MS);

		if (now_ns() - a.said_ns > ALIVE_NS)
			ask(&m.q, &a);
		else if (n > 0 && events[1].revents)
			hear(&a, &m);
		/* Not only in a pause of what the peer says. */
		if (n > 0 && events[0].revents && !f->status)
			goes_on = child__answer(r->channel, ask, &a);
	}
}
