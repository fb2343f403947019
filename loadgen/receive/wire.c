/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "common/program.h"
#include "loadgen/receive/wire.h"
#include "loadgen/send/sender.h"

static const unsigned char magic[4] = {'S', 'P', 'L', 'G'};

static unsigned char *put(unsigned char *to, uint64_t value, size_t size)
{
	uint64_t big = htobe64(value);

	memcpy(to, (const unsigned char *)&big + 8 - size, size);
	return to + size;
}

static const unsigned char *get(const unsigned char *from, uint64_t *value, size_t size)
{
	uint64_t big = 0;

	memcpy((unsigned char *)&big + 8 - size, from, size);
	*value = be64toh(big);
	return from + size;
}

void wire__put_hello(unsigned char bytes[WIRE_HELLO_BYTES], const struct wire_hello *h)
{
	unsigned char *to = bytes;

	memcpy(to, magic, sizeof(magic));
	to = put(to + sizeof(magic), h->version, 2);
	to = put(to, h->kind, 2);
	to = put(to, h->session, 4);
	to = put(to, h->slot, 4);
	to = put(to, h->connection, 4);
	to = put(to, h->message_bytes, 8);
	to = put(to, h->flags, 4);
	to = put(to, h->fields, 4);
	to = put(to, h->picked_from, 8);
	to = put(to, h->seed, 8);
	memcpy(to, h->text, WIRE_TEXT);
}

int wire__get_hello(const unsigned char bytes[WIRE_HELLO_BYTES], struct wire_hello *h)
{
	const unsigned char *from = bytes + sizeof(magic);
	uint64_t v[10];

	if (memcmp(bytes, magic, sizeof(magic)))
		return -EBADMSG;
	from = get(from, &v[0], 2);
	from = get(from, &v[1], 2);
	from = get(from, &v[2], 4);
	from = get(from, &v[3], 4);
	from = get(from, &v[4], 4);
	from = get(from, &v[5], 8);
	from = get(from, &v[6], 4);
	from = get(from, &v[7], 4);
	from = get(from, &v[8], 8);
	from = get(from, &v[9], 8);
	*h = (struct wire_hello){
		.version = (uint16_t)v[0],
		.kind = (uint16_t)v[1],
		.session = (uint32_t)v[2],
		.slot = (uint32_t)v[3],
		.connection = (uint32_t)v[4],
		.message_bytes = v[5],
		.flags = (uint32_t)v[6],
		.fields = (uint32_t)v[7],
		.picked_from = v[8],
		.seed = v[9],
	};
	memcpy(h->text, from, WIRE_TEXT);
	h->text[WIRE_TEXT - 1] = '\0';
	return h->version == WIRE_VERSION ? 0 : -EPROTO;
}

/* All of it by the deadline; what is refused may be cut short: got tells. */
static int read_all(int fd, unsigned char *to, size_t size, int timeout_ms)
{
	uint64_t end = now_ns() + (uint64_t)timeout_ms * 1000000;
	struct pollfd p = {.fd = fd, .events = POLLIN};

	while (size) {
		uint64_t now = now_ns();
		ssize_t n;

		if (now >= end)
			return -ETIMEDOUT;
		if (poll(&p, 1, (int)((end - now) / 1000000) + 1) <= 0)
			continue; /* late, or interrupted */
		n = read(fd, to, size);
		if (!n)
			return -EPIPE;
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return errno == ECONNRESET ? -EPIPE : -errno;
		if (n < 0)
			continue;
		to += n;
		size -= (size_t)n;
	}
	return 0;
}

int wire__send_hello(int fd, const struct wire_hello *h)
{
	unsigned char bytes[WIRE_HELLO_BYTES];

	wire__put_hello(bytes, h);
	return program__write_all(fd, (const char *)bytes, sizeof(bytes));
}

int wire__read_hello(int fd, struct wire_hello *h, int timeout_ms)
{
	unsigned char bytes[WIRE_HELLO_BYTES];
	int err = read_all(fd, bytes, sizeof(magic), timeout_ms);

	/* Another protocol may say less than a hello, and then wait. */
	if (!err && memcmp(bytes, magic, sizeof(magic)))
		return -EBADMSG;
	if (!err)
		err = read_all(fd, bytes + sizeof(magic), sizeof(bytes) - sizeof(magic),
			       timeout_ms);
	return err ? err : wire__get_hello(bytes, h);
}

int wire__send(int fd, const struct wire_message *m)
{
	unsigned char bytes[WIRE_MESSAGE_BYTES], *to = bytes;

	to = put(to, m->type, 4);
	to = put(to, m->number, 4);
	to = put(to, m->slot, 4);
	to = put(to, (uint32_t)m->err, 4);
	for (int i = 0; i < WIRE_VALUES; i++)
		to = put(to, m->values[i], 8);
	return program__write_all(fd, (const char *)bytes, sizeof(bytes));
}

int wire__read(int fd, struct wire_message *m, int timeout_ms)
{
	unsigned char bytes[WIRE_MESSAGE_BYTES];
	const unsigned char *from = bytes;
	uint64_t v[4];
	int err = read_all(fd, bytes, sizeof(bytes), timeout_ms);

	if (err)
		return err;
	for (int i = 0; i < 4; i++)
		from = get(from, &v[i], 4);
	m->type = (uint32_t)v[0];
	m->number = (uint32_t)v[1];
	m->slot = (uint32_t)v[2];
	m->err = (int32_t)(uint32_t)v[3];
	for (int i = 0; i < WIRE_VALUES; i++)
		from = get(from, &m->values[i], 8);
	return 0;
}
