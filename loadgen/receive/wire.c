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

/* So many neighbours in the struct that have one size, the same on the wire. */
struct numbers {
	size_t at, size, count;
};

static const struct numbers head_numbers[] = {
	{offsetof(struct wire_hello, version), 2, 2}, /* and kind */
	{0},
};

static const struct numbers hello_numbers[] = {
	{offsetof(struct wire_hello, slot), 4, 2}, /* and connection */
	{offsetof(struct wire_hello, message_bytes), 8, 1},
	{offsetof(struct wire_hello, flags), 4, 2},	  /* and fields */
	{offsetof(struct wire_hello, picked_from), 8, 2}, /* and seed */
	{offsetof(struct wire_hello, secret), 1, SECRET_BYTES},
	{0},
};

static const struct numbers message_numbers[] = {
	{offsetof(struct wire_message, type), 4, 4}, /* and number, slot, err */
	{offsetof(struct wire_message, values), 8, WIRE_VALUES},
	{0},
};

/* Between this machine's order of bytes and the wire's, which is big-endian; either way. */
static void copy_number(unsigned char *to, const unsigned char *from, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[i] = from[BYTE_ORDER == LITTLE_ENDIAN ? size - 1 - i : i];
}

static unsigned char *put(unsigned char *to, const struct numbers *n, const void *from)
{
	for (; n->size; n++)
		for (size_t i = 0; i < n->count; i++, to += n->size)
			copy_number(to, (const unsigned char *)from + n->at + i * n->size, n->size);
	return to;
}

static const unsigned char *get(const unsigned char *from, const struct numbers *n, void *to)
{
	for (; n->size; n++)
		for (size_t i = 0; i < n->count; i++, from += n->size)
			copy_number((unsigned char *)to + n->at + i * n->size, from, n->size);
	return from;
}

void wire__put_hello(unsigned char bytes[WIRE_HELLO_BYTES], const struct wire_hello *h)
{
	unsigned char *to = bytes + sizeof(magic);

	memcpy(bytes, magic, sizeof(magic));
	memcpy(put(put(to, head_numbers, h), hello_numbers, h), h->text, WIRE_TEXT);
}

int wire__get_head(const unsigned char bytes[WIRE_HEAD_BYTES], struct wire_hello *h)
{
	if (memcmp(bytes, magic, sizeof(magic)))
		return -EBADMSG;
	get(bytes + sizeof(magic), head_numbers, h);
	return h->version == WIRE_VERSION ? 0 : -EPROTO;
}

int wire__get_hello(const unsigned char bytes[WIRE_HELLO_BYTES], struct wire_hello *h)
{
	int err = wire__get_head(bytes, h);

	if (err)
		return err;
	memcpy(h->text, get(bytes + WIRE_HEAD_BYTES, hello_numbers, h), WIRE_TEXT);
	h->text[WIRE_TEXT - 1] = '\0';
	return 0;
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
	int err = read_all(fd, bytes, WIRE_HEAD_BYTES, timeout_ms);

	if (!err)
		err = wire__get_head(bytes, h);
	if (!err)
		err = read_all(fd, bytes + WIRE_HEAD_BYTES, sizeof(bytes) - WIRE_HEAD_BYTES,
			       timeout_ms);
	return err ? err : wire__get_hello(bytes, h);
}

int wire__send(int fd, const struct wire_message *m)
{
	unsigned char bytes[WIRE_MESSAGE_BYTES];

	put(bytes, message_numbers, m);
	return program__write_all(fd, (const char *)bytes, sizeof(bytes));
}

int wire__read(int fd, struct wire_message *m, int timeout_ms)
{
	unsigned char bytes[WIRE_MESSAGE_BYTES];
	int err = read_all(fd, bytes, sizeof(bytes), timeout_ms);

	if (!err)
		get(bytes, message_numbers, m);
	return err;
}
