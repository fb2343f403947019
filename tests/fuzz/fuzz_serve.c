// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Fuzzes a sender to loadgen serve. The input has a byte with flags (enum), a byte with the length
 * of the data, the first message, the data, and requests, all in this machine's byte order.
 */
#include "loadgen/load.h"
#include "loadgen/receive/wire.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { KEYED = 1, RAW = 2, UNPROVEN = 4, UNSIGNED = 8, UNNUMBERED = 16 };

#define TIMEOUT_MS 10000
#define DATA_UNIT  16

static const struct session_limits limits = {.bytes = 1 << 20, .seconds = 10};
static const struct key keys[] = {{0}, {16, "0123456789abcdef"}};

/* Two servers: the second requires a key. */
static struct server {
	int listener, stop;
	struct sockaddr_un address;
	socklen_t length;
} servers[2];

static void *serve(void *arg)
{
	struct server *s = arg;

	session__serve(s->listener, s->stop, &limits, &keys[s - servers]);
	abort();
}

static void begin(struct server *s)
{
	pthread_t thread;

	s->address.sun_family = AF_UNIX;
	s->length = sizeof(s->address);
	s->stop = eventfd(0, EFD_CLOEXEC);
	s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* If the address has no name, the kernel chooses an abstract one. */
	if (s->listener < 0 ||
	    bind(s->listener, (struct sockaddr *)&s->address, sizeof(sa_family_t)) ||
	    listen(s->listener, 64) ||
	    getsockname(s->listener, (struct sockaddr *)&s->address, &s->length) ||
	    pthread_create(&thread, NULL, serve, s))
		abort();
}

static int join(const struct server *s)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)&s->address, s->length))
		abort();
	return fd;
}

static void write_all(int fd, const void *data, size_t size)
{
	ssize_t n;

	while (size && (n = send(fd, data, size, MSG_NOSIGNAL)) > 0) {
		data = (const char *)data + n;
		size -= (size_t)n;
	}
}

/* Reads to the end of file. Aborts if the server keeps the connection for too long. */
static void finish(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char bytes[4096];
	int n;

	shutdown(fd, SHUT_WR);
	do {
		n = poll(&p, 1, TIMEOUT_MS);
		if (!n || (n < 0 && errno != EINTR)) /* EINTR: libFuzzer has a timer */
			abort();
	} while (n < 0 || read(fd, bytes, sizeof(bytes)) > 0);
	close(fd);
}

/* Begins a session. Returns whether it was accepted; the secret is then set. */
static bool greet(int fd, struct wire_message *hello, int how, uint8_t secret[SECRET_BYTES])
{
	struct wire_message m = {0};

	if (how & RAW) {
		write_all(fd, hello, sizeof(*hello));
		return false;
	}
	if (wire__send(fd, hello, NULL) || wire__await(fd, &m, TIMEOUT_MS))
		return false;
	if (m.q.err)
		return false;
	wire__agree(&keys[how & KEYED], hello, &m, secret);
	hello->q.type = WIRE_PROOF;
	if (wire__send(fd, hello, how & UNPROVEN ? NULL : secret) ||
	    wire__await(fd, &m, TIMEOUT_MS))
		return false;
	if (!m.q.err && (how & UNPROVEN || !wire__is_signed(&m, secret)))
		abort();
	return !m.q.err;
}

/* Opens a connection of the session and sends data. */
static void send_data(const struct server *s, const uint8_t *secret, const uint8_t *data,
		      size_t size)
{
	struct wire_message m = {.q = {.type = WIRE_DATA, .values = {1}}};
	int fd = join(s);

	if (!wire__send(fd, &m, secret))
		write_all(fd, data, size);
	close(fd);
}

static void send_requests(int fd, const uint8_t *secret, int how, const uint8_t *data, size_t size)
{
	struct wire_message m = {0};

	for (uint32_t number = 1; size >= sizeof(m.q) && wire__has_room(fd, TIMEOUT_MS); number++) {
		memcpy(&m.q, data, sizeof(m.q));
		if (!(how & UNNUMBERED))
			m.q.number = number;
		if (wire__send(fd, &m, how & UNSIGNED ? NULL : secret))
			return;
		data += sizeof(m.q);
		size -= sizeof(m.q);
	}
	write_all(fd, data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t secret[SECRET_BYTES];
	struct wire_message hello;
	struct server *s;
	size_t bytes;
	int fd, how;

	if (size < 2 + sizeof(hello))
		return 0;
	how = data[0];
	s = &servers[how & KEYED];
	if (!s->length)
		begin(s);
	memcpy(&hello, data + 2, sizeof(hello));
	bytes = data[1] * DATA_UNIT;
	data += 2 + sizeof(hello);
	size -= 2 + sizeof(hello);
	bytes = bytes < size ? bytes : size;
	fd = join(s);
	if (greet(fd, &hello, how, secret)) {
		send_data(s, secret, data, bytes);
		send_requests(fd, secret, how, data + bytes, size - bytes);
	} else {
		write_all(fd, data, size);
	}
	finish(fd);
	return 0;
}
