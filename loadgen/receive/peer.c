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
#define ALIVE_NS   5000000000ULL /* interval of messages that keep the session */
#define TICK_US	   20000	 /* the kernel may count CPU time in ticks */

struct agent {
	const struct receiver_process *r; /* listener is the socket to the peer */
	const struct peer *peer;
	struct failure *f;
	struct request pending; /* the last request without a reply; number 0: none */
	uint32_t number;	/* number of the last request */
	uint64_t sent_ns;
	uint64_t time_us[2], time_ns; /* the peer's last CPU time, and when it came */
};

#define fail_peer(p, f, err, format, ...) \
	failure__set(f, STATUS_FAILED, err, "--peer %s: " format, (p)->name, ##__VA_ARGS__)

/* Explains a failure: the peer was not reached, did not reply, or has another version. */
static int explain_failure(const struct peer *p, const struct wire_message *m, int err,
			   struct failure *f)
{
	if (err == -EPROTO && m) /* m NULL: connect() failed with this error */
		return fail_peer(p, f, err,
				 "it has version %u, this program %u: install the same version "
				 "on both machines",
				 m->version, WIRE_VERSION);
	return fail_peer(p, f, err, "%s: does loadgen serve run there?",
			 err == -ETIMEDOUT ? "it does not answer"
			 : err == -EPIPE   ? "it closed the connection"
			 : err == -EBADMSG ? "another program answers there"
					   : strerror(-err));
}

static int fail_impossible(const struct peer *p, const char *what, struct failure *f)
{
	return fail_peer(p, f, -EPROTO, "it reports impossible %s: is it loadgen serve?", what);
}

/* Sends a message, signed or not, and reads its reply, which must be signed if the message was. */
static int exchange_messages(const struct peer *p, int fd, struct wire_message *message,
			     const uint8_t *secret, struct wire_message *answer, struct failure *f)
{
	char text[WIRE_TEXT];
	int err = wire__send(fd, message, secret);

	if (!err)
		err = wire__await(fd, answer, TIMEOUT_MS);
	if (err)
		return explain_failure(p, answer, err, f);
	if (answer->q.err)
		return fail_peer(p, f, -ECONNREFUSED, "it refuses: %s",
				 safe_text(answer->text, text, sizeof(text)));
	if (secret && !wire__is_signed(answer, secret))
		return fail_peer(p, f, -EACCES, "it has not proved that it knows the --key");
	if (answer->q.type != (message->q.type | WIRE_REPLY) || answer->q.slot != message->q.slot)
		return fail_impossible(p, "answers", f);
	return 0;
}

/* Agrees on the load. Each end proves that it has the key. */
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
		err = exchange_messages(p, fd, &control, NULL, &answer, f);
	if (!err && !key.bytes != !answer.q.values[0])
		err = fail_peer(p, f, -EACCES, "%s",
				key.bytes
					? "it requires no key: give it the same --key, or leave "
					  "--key out here"
					: "it requires a key: give --key FILE, the same as there");
	if (err)
		return err;
	wire__agree(&key, &control, &answer, p->secret);
	control.q.type = WIRE_PROOF;
	err = exchange_messages(p, fd, &control, p->secret, &answer, f);
	safe_text(answer.text, p->machine, sizeof(p->machine));
	return err;
}

/* Opens a session. A receiver with many pending connections may close the first attempts. */
static int open_at(struct peer *p, struct listener *l, const struct load *load, struct failure *f)
{
	struct load plain = *load; /* socket options apply only to the load's connections */
	struct failure why = {0};
	int err = -EPIPE;

	plain.socket = (struct socket_options){0};
	for (int i = 0; i < TRIES && err == -EPIPE; i++) {
		listener__close(l);
		*f = (struct failure){0};
		l->fd = listener__connect(l, &plain, &why);
		err = l->fd < 0 ? explain_failure(p, NULL, l->fd, f)
				: peer__greet(p, l->fd, load, f);
	}
	return err;
}

/* Tries each address of the peer: it may listen at only one of them. */
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
			    message = {
				    .q = {.type = WIRE_DATA, .slot = slot, .values = {connection}}};

	return exchange_messages(p, fd, &message, p->secret, &answer, f);
}

/* Returns whether the counts are possible, given how many bytes this slot's sender has sent. */
static bool is_possible(const struct receiver_process *r, const struct slot *slot,
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
	if (!is_possible(a->r, slot, &state))
		return "numbers";
	if (state.found.checked) /* only the last reply has these counts */
		slot->verified.found = state.found;
	slot__publish(slot, state.received);
	if (q->err)
		slot__end(slot);
	return NULL;
}

/*
 * Returns whether the CPU time is plausible. The peer's process has one thread per connection and
 * one more. No thread can have used more CPU time since the last report than our clock shows.
 */
static bool is_later(struct agent *a, const uint64_t *time_us)
{
	uint64_t most = (now_ns() - a->time_ns) / 1000 + TICK_US;

	for (int i = 0; i < 2; i++)
		if (a->time_ns && (time_us[i] < a->time_us[i] ||
				   (time_us[i] - a->time_us[i]) / (a->r->slot_count + 1) > most))
			return false;
	memcpy(a->time_us, time_us, sizeof(a->time_us));
	a->time_ns = a->sent_ns;
	return true;
}

/* Applies a reply. Returns what is impossible in it, or NULL. */
static const char *apply_reply(struct agent *a, const struct wire_message *m)
{
	const struct request *q = &m->q;

	if (!wire__is_signed(m, a->peer->secret) || q->slot >= a->r->slot_count || q->err > 0 ||
	    q->err < -4095)
		return "answers";
	if (q->type == (REQUEST_STATE | WIRE_REPLY))
		return publish(a, q);
	if (!q->number || q->number != a->pending.number ||
	    q->type != (a->pending.type | WIRE_REPLY))
		return "answers";
	a->pending.number = 0;
	if (a->pending.type == REQUEST_CPU_TIME && (q->err || !is_later(a, q->values)))
		return "processor time";
	return NULL;
}

static void read_reply(struct agent *a, struct wire_message *m)
{
	int err = wire__await(a->r->listener, m, TIMEOUT_MS);
	const char *wrong = err ? NULL : apply_reply(a, m);

	if (err)
		explain_failure(a->peer, m, err, a->f);
	else if (wrong)
		fail_impossible(a->peer, wrong, a->f);
}

/* Passes a request on, and reads replies until the request's own. Does not wait for a STATE's. */
static void pass_on(struct request *q, void *agent)
{
	struct agent *a = agent;
	struct wire_message m = {.q = *q};
	int err = -ETIMEDOUT;

	m.q.number = ++a->number;
	a->sent_ns = now_ns();
	if (wire__has_room(a->r->listener, TIMEOUT_MS))
		err = wire__send(a->r->listener, &m, a->peer->secret);
	if (err)
		explain_failure(a->peer, &m, err, a->f);
	else if (q->type != REQUEST_STATE)
		a->pending = m.q;
	while (a->pending.number && !a->f->status)
		if (now_ns() - a->sent_ns < TIMEOUT_MS * 1000000ULL)
			read_reply(a, &m);
		else /* other replies may precede it */
			explain_failure(a->peer, &m, -ETIMEDOUT, a->f);
	memcpy(q->values, m.q.values, sizeof(q->values));
	q->err = a->f->status ? -EPIPE : m.q.err;
}

void peer__serve(const struct peer *p, const struct receiver_process *r, struct failure *f)
{
	struct agent a = {.r = r, .peer = p, .f = f, .sent_ns = now_ns()};
	struct pollfd events[] = {{.fd = r->channel, .events = POLLIN},
				  {.fd = r->listener, .events = POLLIN}};
	bool open = true;

	while (open && !f->status) {
		struct wire_message m = {.q.type = REQUEST_CPU_TIME};
		int n = poll(events, 2, WIRE_LOOK_MS);

		if (now_ns() - a.sent_ns > ALIVE_NS)
			pass_on(&m.q, &a);
		else if (n > 0 && events[1].revents)
			read_reply(&a, &m);
		/* Reads replies between requests, too, not only when the peer pauses. */
		if (n > 0 && events[0].revents && !f->status)
			open = child__answer(r->channel, pass_on, &a);
	}
}
