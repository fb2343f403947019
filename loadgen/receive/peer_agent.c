/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Replaces the receiving process when the receiver is on another machine: answers the same
 * requests over the channel, passes them on to the peer, and publishes the states that the
 * peer reports in the slots.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "loadgen/receive/peer.h"
#include "loadgen/receive/receiver.h"
#include "loadgen/send/sender.h"

#define REPLY_TIMEOUT_MS 5000
#define LOOK_MS		 500 /* how often the states of awaited connections are requested */
#define ALIVE_NS	 5000000000ULL /* and that of the first, so that the peer hears of us */
#define TICK_US		 20000	       /* processor time may be counted by ticks */

struct agent {
	const struct receiver_process *r;
	const uint8_t *secret;
	int control; /* to the peer */
	uint32_t number, unanswered;
	uint64_t said_ns;
	uint64_t time_us[2], time_ns; /* the last processor time that it told, and when */
	const char *name;
	struct failure *f;
};

static int explain_loss(struct agent *a, int err)
{
	return failure__set(a->f, STATUS_FAILED, err, "the peer %s %s", a->name,
			    err == -ETIMEDOUT ? "does not answer any more"
			    : err == -EPIPE   ? "is gone"
					      : strerror(-err));
}

static int disbelieve(struct agent *a, const char *what)
{
	return failure__set(a->f, STATUS_FAILED, -EPROTO,
			    "the peer %s tells %s that cannot be: is it loadgen serve?", a->name,
			    what);
}

/* Whether it can be what a slot's receiver counted; how much was sent, the sender knows. */
static bool possible(const struct agent *a, const struct slot *s, const uint64_t *v)
{
	uint64_t received = v[STATE_RECEIVED], checked = v[STATE_CHECKED];

	return received >= atomic_load(&s->received) && v[STATE_ENDED] <= 1 &&
	       checked <= received && (a->r->verify || !checked) && v[STATE_BAD] <= checked &&
	       v[STATE_MESSAGE] <= received / a->r->message_bytes &&
	       v[STATE_OFFSET] < a->r->message_bytes && v[STATE_BYTES] <= UINT16_MAX;
}

/* A state of a slot comes when asked for, or when what was expected has come. */
static int publish(struct agent *a, const struct wire_message *m)
{
	const uint64_t *v = m->values;
	struct slot *s = &a->r->slots[m->slot];

	if (!possible(a, s, v))
		return disbelieve(a, "numbers");
	s->verified.checked = v[STATE_CHECKED];
	s->verified.bad = v[STATE_BAD];
	s->verified.first =
		(struct pattern_mismatch){v[STATE_MESSAGE], v[STATE_OFFSET],
					  (uint8_t)(v[STATE_BYTES] >> 8), (uint8_t)v[STATE_BYTES]};
	slot__publish(s, v[STATE_RECEIVED]);
	if (v[STATE_ENDED])
		slot__end(s);
	return 0;
}

static int read_reply(struct agent *a, struct wire_message *m)
{
	int err = wire__read_all(a->control, m, sizeof(*m), REPLY_TIMEOUT_MS);

	if (err)
		return explain_loss(a, err);
	err = wire__open(m, a->secret);
	m->type ^= WIRE_REPLY; /* of a request that comes back, too */
	if (err || m->type > WIRE_STATE || !a->unanswered || !m->number || m->number > a->number ||
	    m->err > 0 || m->err < -4095 || m->slot >= a->r->slot_count)
		return disbelieve(a, "answers");
	a->unanswered--;
	return m->type == WIRE_STATE || m->type == WIRE_EXPECT ? publish(a, m) : 0;
}

static int send_message(struct agent *a, struct wire_message m)
{
	int err;

	m.number = ++a->number;
	a->unanswered++;
	a->said_ns = now_ns();
	wire__seal(&m, a->secret);
	err = program__write_all(a->control, (const char *)&m, sizeof(m));
	return err ? explain_loss(a, err) : 0;
}

/* Sends a message and waits for its reply; other replies may come before it. */
static int exchange(struct agent *a, struct wire_message *m)
{
	int err = send_message(a, *m);
	uint32_t number = a->number;

	do
		err = err ? err : read_reply(a, m);
	while (!err && m->number != number);
	return err;
}

/*
 * The peer's process has a thread for each connection and one more: since it told last, it
 * cannot have used more time than passed for each, by our clock.
 */
static int take_time(struct agent *a, const struct wire_message *m, uint64_t asked_ns)
{
	uint64_t most = (now_ns() - a->time_ns) / 1000 + TICK_US;

	for (int i = 0; i < 2; i++)
		if (a->time_ns && (m->values[i] < a->time_us[i] ||
				   (m->values[i] - a->time_us[i]) / (a->r->slot_count + 1) > most))
			return disbelieve(a, "processor time");
	memcpy(a->time_us, m->values, sizeof(a->time_us));
	a->time_ns = asked_ns;
	return 0;
}

static int pass_on(struct agent *a, const struct request *q, struct reply *r)
{
	struct wire_message m = {.slot = q->slot};
	uint64_t now = now_ns();
	int err;

	switch (q->type) {
	case REQUEST_ADOPT:
		a->r->slots[q->slot].verified.connection = q->port;
		return 0;
	case REQUEST_EXPECT:
		m.type = WIRE_EXPECT;
		m.values[0] = q->bytes;
		return send_message(a, m);
	case REQUEST_MARK:
		m.type = WIRE_MARK;
		m.values[0] = (uint64_t)q->mark;
		err = exchange(a, &m);
		break;
	default:
		m.type = WIRE_CPU_TIME;
		err = exchange(a, &m);
		if (!err)
			err = take_time(a, &m, now);
		r->time.user_s = (double)m.values[0] / 1e6;
		r->time.system_s = (double)m.values[1] / 1e6;
	}
	r->err = m.err;
	return err;
}

/* 1: the sender's end closed. */
static int serve_sender(struct agent *a)
{
	struct request q;
	struct reply r = {0};
	ssize_t n = read(a->r->channel, &q, sizeof(q));
	int err;

	if (n < 0 && errno == EINTR)
		return 0;
	if (n != sizeof(q))
		return 1;
	r.number = q.number;
	err = pass_on(a, &q, &r);
	if (err)
		return err;
	return write(a->r->channel, &r, sizeof(r)) == sizeof(r) ? 0 : 1;
}

/* A slow connection that is waited for must be seen to move; and the peer must hear of us. */
static int request_states(struct agent *a)
{
	bool quiet = now_ns() - a->said_ns > ALIVE_NS;
	struct wire_message m = {.type = WIRE_STATE};
	int err = 0;

	for (m.slot = 0; m.slot < a->r->slot_count && !err; m.slot++)
		if (atomic_load(&a->r->slots[m.slot].wanted) || (quiet && !m.slot))
			err = send_message(a, m);
	return err;
}

void peer_agent__serve(const struct receiver_process *r, const struct peer *p, const char *name,
		       struct failure *f)
{
	struct agent a = {.r = r,
			  .secret = p->secret,
			  .control = r->listener,
			  .said_ns = now_ns(),
			  .name = name,
			  .f = f};
	struct pollfd events[] = {{.fd = r->channel, .events = POLLIN},
				  {.fd = a.control, .events = POLLIN}};
	struct wire_message m;
	int err = 0;

	while (!err) {
		int n = poll(events, 2, LOOK_MS);

		if (n < 0 && errno != EINTR)
			err = explain_loss(&a, -errno);
		else if (!n)
			err = request_states(&a);
		if (n > 0 && events[1].revents)
			err = read_reply(&a, &m);
		if (n > 0 && !err && events[0].revents)
			err = serve_sender(&a);
	}
}
