/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>

#include "loadgen/load.h"
#include "loadgen/send/pool.h"
#include "loadgen/send/send_ops.h"

uint32_t pool__depth(const struct load *load)
{
	return load->reuse_early ? 1 : load->inflight;
}

static bool in_memory(const struct load *load, const struct send_ops *ops)
{
	return load->align || load->huge_pages || ops->flags & SEND_FILE ||
	       (load->registered && ops->flags & SEND_REGISTERS);
}

/* Returns the distance between messages: whole pages in a file, which is sent page by page. */
static size_t message_room(const struct load *load, const struct send_ops *ops)
{
	if (ops->flags & SEND_FILE)
		return (load->message_bytes + 4095) / 4096 * 4096;
	return memory__stride(load, load__longest_field(load)) * load__fields(load);
}

static void set_fields(struct message *m, char *at, size_t room)
{
	for (unsigned int i = 0; i < m->count; i++, at += room / m->count)
		m->fields[i].iov_base = at;
}

double pool__need(const struct load *load)
{
	const struct send_ops *ops = variants__find(load->variant);
	double count = ops->flags & SEND_SHARES ? pool__depth(load) : 1;
	double fields = load__fields(load) * 2.0 * sizeof(struct iovec);
	double room = load->working_set ? 0 : (double)message_room(load, ops);

	if (ops->flags & SEND_NOTHING)
		return 0;
	return load->threads * (count * (room + fields + sizeof(struct message)) +
				(double)load->message_bytes + POOL_PIPE_BYTES);
}

static int make_messages(struct pool *p, const struct sender *s, const struct load *load,
			 uint32_t count, size_t room)
{
	bool own = !p->memory.base && !s->dataset;
	int err;

	for (; p->count < count; p->count++) {
		struct message *m = &p->messages[p->count];

		err = message__create(m, load->message_bytes, load__fields(load), own);
		if (err)
			return err;
		if (p->memory.base)
			set_fields(m, p->memory.base + p->count * room, room);
		if (s->dataset)
			dataset__pick(s->dataset, m, s->connection, p->count);
		else
			message__fill(m, s->connection, p->count);
	}
	return 0;
}

int pool__create(struct pool *p, struct sender *s, const struct load *load, uint32_t count)
{
	const struct send_ops *ops = variants__find(load->variant);
	size_t room = message_room(load, ops);
	int err = 0;

	*p = (struct pool){0};
	p->messages = calloc(count, sizeof(*p->messages));
	if (!p->messages)
		return -ENOMEM;
	if (in_memory(load, ops) && !s->dataset)
		err = memory__map(&p->memory, room * count, load, ops->flags & SEND_FILE,
				  &s->failure);
	if (!err)
		err = make_messages(p, s, load, count, room);
	return err;
}

void pool__destroy(struct pool *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		message__destroy(&p->messages[i]);
	free(p->messages);
	memory__unmap(&p->memory);
}

const struct memory *pool__memory(const struct pool *p, const struct sender *s)
{
	return s->dataset ? &s->dataset->memory : &p->memory;
}
