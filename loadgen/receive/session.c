/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One thread conducts a session and waits for nothing. Each of its connections has a thread of its
 * own; whatever the sender says makes no more of them.
 */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loadgen/receive/session.h"
#include "loadgen/send/sender.h"

#define SECOND_NS 1000000000ULL
#define SILENT_NS (30 * SECOND_NS)  /* a sender that lives says something each 5 s */
#define IDLE_NS	  (120 * SECOND_NS) /* and sends something in this time */

static bool possible(const struct request *q)
{
	const uint64_t *v = q->values;

	if (!q->slot || q->slot > THREADS_MAX || v[LOAD_MESSAGE_BYTES] < MESSAGE_MIN ||
	    v[LOAD_MESSAGE_BYTES] > MESSAGE_MAX)
		return false;
	return !v[LOAD_PICKED_FROM] ||
	       (v[LOAD_FIELDS] && v[LOAD_FIELDS] <= FIELDS_MAX &&
		v[LOAD_FIELDS] <= v[LOAD_MESSAGE_BYTES] && v[LOAD_FIELDS] <= v[LOAD_PICKED_FROM]);
}

const char *session__begin(struct session *s, const struct request *control)
{
	const uint64_t *v = control->values;
	struct slot *slots = possible(control) ? slot__map(control->slot) : NULL;

	if (!possible(control))
		return "no such load";
	*s = (struct session){
		.limits = s->limits,
		.secret = s->secret,
		.control = s->control,
		.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
		.process = {.slots = slots,
			    .slot_count = slots ? control->slot : 0,
			    .message_bytes = v[LOAD_MESSAGE_BYTES],
			    .picker = {v[LOAD_PICKED_FROM], v[LOAD_SEED], (uint32_t)v[LOAD_FIELDS],
				       v[LOAD_FLAGS] & WIRE_RANDOM},
			    .verify = v[LOAD_FLAGS] & WIRE_VERIFY,
			    .marks = v[LOAD_FLAGS] & WIRE_MARKS},
	};
	for (unsigned int i = 0; i < s->process.slot_count; i++)
		slots[i].event = s->event;
	s->begin_ns = s->heard_ns = s->moved_ns = s->looked_ns = now_ns();
	if (slots && s->event >= 0)
		return NULL;
	session__end(s);
	return "out of memory or descriptors";
}

const char *session__join(struct session *s, int fd, struct wire_message *data)
{
	unsigned int slot = data->q.slot;

	if (!wire__is_signed(data, s->secret))
		return "no such session";
	if (slot >= s->process.slot_count || s->taken[slot])
		return "no such connection";
	if (receiver_process__start(&s->process, fd, slot, (uint32_t)data->q.values[0],
				    &s->threads[slot]))
		return "no thread for it";
	s->taken[slot] = true;
	if (wire__reply(fd, data, s->secret))
		shutdown(fd, SHUT_RDWR);
	return NULL;
}

/* Answers what is asked of a slot: for the last time once that has come or never will. */
static int answer(struct session *s, unsigned int slot, bool late)
{
	struct wire_message m = {
		.q = {.type = REQUEST_STATE, .number = s->asked[slot], .slot = slot}};
	struct slot *from = &s->process.slots[slot];
	uint64_t *v = m.q.values;

	v[STATE_ENDED] = atomic_load(&from->ended); /* before what came until then */
	v[STATE_RECEIVED] = atomic_load(&from->received);
	v[STATE_CHECKED] = from->verified.checked;
	v[STATE_BAD] = from->verified.bad;
	v[STATE_MESSAGE] = from->verified.first.message;
	v[STATE_OFFSET] = from->verified.first.offset;
	v[STATE_BYTES] = (uint64_t)from->verified.first.expected << 8 | from->verified.first.got;
	if (v[STATE_RECEIVED] >= atomic_load(&from->wanted) || v[STATE_ENDED]) {
		s->asked[slot] = 0;
		atomic_store(&from->wanted, 0);
	}
	return s->asked[slot] && !late ? 0 : wire__reply(s->control, &m, s->secret);
}

int session__handle(struct session *s, struct wire_message *m)
{
	struct request *q = &m->q;

	if (!wire__is_signed(m, s->secret))
		return -EBADMSG;
	if (q->slot >= s->process.slot_count || q->number != ++s->number)
		return -EPROTO;
	s->heard_ns = now_ns();
	switch (q->type) {
	case REQUEST_STATE:
		if (s->asked[q->slot]) /* who asks for more does not wait for answers */
			return -EPROTO;
		s->asked[q->slot] = q->number;
		atomic_store(&s->process.slots[q->slot].wanted, q->values[0]);
		return answer(s, q->slot, false);
	case REQUEST_MARK:
		if (!s->process.marks) /* a receiver that blocks would not hear of it */
			return -EPROTO;
		/* fall through */
	case REQUEST_CPU_TIME:
		receiver_process__answer(&s->process, q);
		return wire__reply(s->control, m, s->secret);
	default:
		return -EPROTO;
	}
}

/* Why it ends, by what passed and what came; NULL: it goes on. */
static const char *exceeds(struct session *s, uint64_t now)
{
	uint64_t received = 0;

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

const char *session__go_on(struct session *s)
{
	uint64_t now = now_ns();
	bool late = now - s->looked_ns >= WIRE_LOOK_MS * 1000000ULL;
	eventfd_t count;
	int err = 0;

	eventfd_read(s->event, &count);
	for (unsigned int i = 0; i < s->process.slot_count && !err; i++)
		if (s->asked[i] && wire__has_room(s->control, 0))
			err = answer(s, i, late);
		else if (s->asked[i])
			eventfd_write(s->event, 1); /* to come back */
	if (late)
		s->looked_ns = now;
	return err ? strerror(-err) : late ? exceeds(s, now) : NULL;
}

/* Nobody else opens files meanwhile: what a thread has closed by itself is nobody's. */
void session__end(struct session *s)
{
	for (unsigned int i = 0; i < s->process.slot_count; i++) {
		int fd = atomic_load(&s->process.slots[i].socket);

		if (fd)
			shutdown(fd, SHUT_RDWR);
	}
	for (unsigned int i = 0; i < s->process.slot_count; i++)
		if (s->taken[i])
			pthread_join(s->threads[i], NULL);
	slot__unmap(s->process.slots, s->process.slot_count);
	if (s->event >= 0)
		close(s->event);
}
