/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A session once it stands: its messages, its connections, its end. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "loadgen/receive/session.h"

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

static int set_mark(const struct session *s, const struct wire_message *m)
{
	int fd = atomic_load(&s->process.slots[m->slot].socket), mark = (int)m->values[0];

	return fd && setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &mark, sizeof(mark)) ? -errno : 0;
}

int session__handle(struct session *s, struct wire_message *m)
{
	struct cpu_time t;

	if (m->slot >= s->process.slot_count)
		return -EPROTO;
	switch (m->type) {
	case WIRE_MARK:
		if (!s->process.marks) /* a receiver that blocks would not hear of it */
			return -EPROTO;
		m->err = set_mark(s, m);
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

struct session *session__create(int fd, const struct wire_hello *h, uint32_t id)
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

void session__end(struct session *s)
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
