/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "loadgen/data/message.h"
#include "loadgen/load.h"
#include "loadgen/send/send_ops.h"

int message__create(struct message *m, size_t bytes, unsigned int fields, bool own)
{
	bool fits;

	*m = (struct message){.bytes = bytes, .count = fields, .own = own};
	m->fields = calloc(fields, sizeof(*m->fields));
	m->rest = calloc(fields, sizeof(*m->rest));
	fits = m->fields && m->rest;
	for (unsigned int i = 0; i < fields && fits; i++) {
		m->fields[i].iov_len = bytes / fields + (i < bytes % fields);
		if (own)
			fits = (m->fields[i].iov_base = malloc(m->fields[i].iov_len));
	}
	if (!fits)
		message__destroy(m);
	return fits ? 0 : -ENOMEM;
}

void message__destroy(struct message *m)
{
	for (unsigned int i = 0; m->own && i < m->count && m->fields; i++)
		free(m->fields[i].iov_base);
	free(m->fields);
	free(m->rest);
	*m = (struct message){0};
}

void message__fill(struct message *m, uint32_t connection, uint64_t number)
{
	size_t offset = 0;

	for (unsigned int i = 0; i < m->count; i++) {
		const struct iovec *field = &m->fields[i];

		pattern__fill(connection, number, offset, field->iov_base, field->iov_len);
		offset += field->iov_len;
	}
}

struct iovec *message__rest(struct message *m, size_t done, unsigned int *count)
{
	unsigned int first = 0;

	while (first < m->count && done >= m->fields[first].iov_len)
		done -= m->fields[first++].iov_len;
	*count = m->count - first;
	memcpy(m->rest, m->fields + first, *count * sizeof(*m->rest));
	if (*count) {
		m->rest[0].iov_base = (char *)m->rest[0].iov_base + done;
		m->rest[0].iov_len -= done;
	}
	return m->rest;
}

size_t load__longest_field(const struct load *load)
{
	unsigned int fields = load__fields(load);

	return (load->message_bytes + fields - 1) / fields;
}

struct picker dataset__picker(const struct load *load)
{
	return (struct picker){
		.count = load->working_set / memory__stride(load, load__longest_field(load)),
		.seed = load->seed,
		.fields = load__fields(load),
		.random = load->pick == PICK_RANDOM,
	};
}

int dataset__create(struct dataset *d, const struct load *load, struct failure *f)
{
	const struct send_ops *ops = variants__find(load->variant);
	size_t longest = load__longest_field(load);
	int err;

	*d = (struct dataset){.picker = dataset__picker(load),
			      .stride = memory__stride(load, longest)};
	if (!load->working_set || ops->flags & SEND_NOTHING)
		return 0;
	err = memory__map(&d->memory, load->working_set, load, ops->flags & SEND_FILE, f);
	for (uint64_t i = 0; i < d->picker.count && !err; i++)
		pattern__fill_field(i, 0, d->memory.base + i * d->stride, longest);
	return err;
}
