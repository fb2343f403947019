/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Replaces the receiving process when the receiver is on another machine: passes the same
 * requests on to the peer, and publishes the states that the peer reports in the slots.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "loadgen/load.h"
#include "loadgen/receive/peer.h"
#include "loadgen/receive/receiver.h"
#include "loadgen/send/sender.h"

#define TIMEOUT_MS 5000
#define ALIVE_NS   5000000000ULL /* after it the peer hears of us, so that it does not give us up */
#define LOOK_MS	   500		 /* how often that is looked at */
#define TICK_US	   20000	 /* processor time may be counted by ticks */

struct agent {
	const struct receiver_process *r;
	const uint8_t *secret;
	int control;			       /* to the peer */
	uint32_t number;		       /* of the last request; */
	uint32_t waiting, states[THREADS_MAX]; /* of that whose reply is awaited; of each slot's */
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

static int publish(struct agent *a, const struct request *q)
{
	const uint64_t *v = q->values;
	struct slot *s = &a->r->slots[q->slot];

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

/*
 * The peer's process has a thread for each connection and one more: since it told last, it
 * cannot have used more time than passed for each, by our clock.
 */
static int check_time(struct agent *a, const struct request *q)
{
	uint64_t most = (now_ns() - a->time_ns) / 1000 + TICK_US;

	for (int i = 0; i < 2; i++)
		if (a->time_ns && (q->values[i] < a->time_us[i] ||
				   (q->values[i] - a->time_us[i]) / (a->r->slot_count + 1) > most))
			return disbelieve(a, "processor time");
	memcpy(a->time_us, q->values, sizeof(a->time_us));
	a->time_ns = a->said_ns;
	return 0;
}

static int send_request(struct agent *a, const struct request *q)
{
	struct wire_message m = {.q = *q};
	int err = -ETIMEDOUT;

	m.q.number = ++a->number;
	a->said_ns = now_ns();
	if (wire__has_room(a->control, TIMEOUT_MS))
		err = wire__send(a->control, &m, a->secret);
	return err ? explain_loss(a, err) : 0;
}

static int read_reply(struct agent *a, struct request *q)
{
	struct wire_message m = {0};
	int err = wire__await(a->control, &m, TIMEOUT_MS);
	bool is_state;

	if (err && err != -EBADMSG && err != -EPROTO)
		return explain_loss(a, err);
	*q = m.q;
	q->type ^= WIRE_REPLY; /* of a request that comes back, too */
	is_state = q->type == REQUEST_STATE;
	if (err || !wire__is_signed(&m, a->secret) || q->type > REQUEST_STATE ||
	    q->slot >= a->r->slot_count || q->err > 0 || q->err < -4095 || !q->number ||
	    q->number != (is_state ? a->states[q->slot] : a->waiting))
		return disbelieve(a, "answers");
	if (is_state)
		return publish(a, q);
	a->waiting = 0;
	return 0;
}

/* Other replies may come before its own. */
static int exchange(struct agent *a, struct request *q)
{
	bool is_time = q->type == REQUEST_CPU_TIME;
	int err = send_request(a, q);

	a->waiting = a->number;
	while (!err && a->waiting)
		err = read_reply(a, q);
	return err || !is_time ? err : check_time(a, q);
}

/* A STATE is answered when it will be. 1: the sender's end closed. */
static int serve_sender(struct agent *a)
{
	struct request q = {0};
	ssize_t n = read(a->r->channel, &q, sizeof(q));
	uint32_t number = q.number;
	int err;

	if (n < 0 && errno == EINTR)
		return 0;
	if (n != sizeof(q))
		return 1;
	if (q.type == REQUEST_STATE) {
		err = send_request(a, &q);
		a->states[q.slot] = a->number;
	} else {
		err = exchange(a, &q);
	}
	q.number = number;
	return err ? err : write(a->r->channel, &q, sizeof(q)) != sizeof(q);
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
	int err = 0;

	while (!err) {
		struct request q = {.type = REQUEST_CPU_TIME};
		int n = poll(events, 2, LOOK_MS);

		if (n < 0 && errno != EINTR)
			err = explain_loss(&a, -errno);
		else if (now_ns() - a.said_ns > ALIVE_NS)
			err = exchange(&a, &q);
		else if (n > 0 && events[1].revents)
			err = read_reply(&a, &q);
		else if (n > 0 && events[0].revents)
			err = serve_sender(&a);
	}
}
