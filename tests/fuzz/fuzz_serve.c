// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A sender to loadgen serve: a byte that says how much is data, its hello, data, messages. */
#include "loadgen/receive/sessions.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TIMEOUT_MS 10000
#define DATA_UNIT  16

static const struct session_limits limits = {.bytes = 1 << 20, .seconds = 10};
static struct sessions *sessions;

struct sender {
	int fds[2]; /* of the server, then ours */
	struct wire_hello hello;
};

static void *conduct(void *arg)
{
	struct sender *s = arg;

	if (sessions__conduct(sessions, s->fds[0], &s->hello, "the fuzzer"))
		close(s->fds[0]); /* refused */
	return NULL;
}

static void write_all(int fd, const uint8_t *data, size_t size)
{
	ssize_t n;

	while (size && (n = send(fd, data, size, MSG_NOSIGNAL)) > 0) {
		data += n;
		size -= (size_t)n;
	}
	shutdown(fd, SHUT_WR);
}

/* A connection of the session; the server has its other end then. */
static void send_data(const struct wire_hello *accepted, const uint8_t *data, size_t size)
{
	struct wire_hello h = {.kind = WIRE_DATA, .connection = 1};
	int fds[2];

	memcpy(h.secret, accepted->secret, sizeof(h.secret));
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		abort();
	if (sessions__join(sessions, fds[0], &h))
		close(fds[0]);
	write_all(fds[1], data, size);
	close(fds[1]);
}

/* To the end of file: who does not hear it in time has found a session that never ends. */
static void drain(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char bytes[4096];
	int n;

	do {
		n = poll(&p, 1, TIMEOUT_MS);
		if (!n || (n < 0 && errno != EINTR)) /* libFuzzer has a timer */
			abort();
	} while (n < 0 || read(fd, bytes, sizeof(bytes)) > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_hello accepted;
	struct sender s;
	pthread_t thread;
	size_t bytes;

	if (!sessions)
		sessions = sessions__create(&limits);
	if (size < 1 + WIRE_HELLO_BYTES || wire__get_hello(data + 1, &s.hello))
		return 0;
	bytes = data[0] * DATA_UNIT;
	data += 1 + WIRE_HELLO_BYTES;
	size -= 1 + WIRE_HELLO_BYTES;
	bytes = bytes < size ? bytes : size;
	if (!sessions || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s.fds) ||
	    pthread_create(&thread, NULL, conduct, &s))
		abort();
	if (!wire__read_hello(s.fds[1], &accepted, TIMEOUT_MS))
		send_data(&accepted, data, bytes);
	write_all(s.fds[1], data + bytes, size - bytes);
	drain(s.fds[1]);
	close(s.fds[1]);
	pthread_join(thread, NULL);
	return 0;
}
