// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a receiver elsewhere says to its sender: a byte that says whether one or two hellos follow,
 * and for each request a byte of what it has of the request (enum), and an answer.
 */
#include "loadgen/load.h"
#include "loadgen/receive/peer.h"
#include "loadgen/receive/receiver_process.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SAME_TYPE = 1, SAME_NUMBER = 2, SAME_SLOT = 4, TWICE = 8 };

#define SLOTS 2

struct other_end {
	int fd;
	const uint8_t *said;
	size_t left;
};

static char key[] = "/dev/shm/sendpath-key-XXXXXX";
static struct load load = {
	.peer = "fuzzer:1", .key = key, .message_bytes = 1000, .fields = 1, .threads = SLOTS};

static void remove_key(void)
{
	unlink(key);
}

static void make_key(void)
{
	int fd = mkstemp(key);

	if (fd < 0 || write(fd, "0123456789abcdef", 16) != 16 || close(fd))
		abort();
	atexit(remove_key);
}

static const uint8_t *take(struct other_end *o, size_t bytes)
{
	const uint8_t *taken = o->said;

	if (o->left < bytes)
		return NULL;
	o->said += bytes;
	o->left -= bytes;
	return taken;
}

/* One answer that is in what is left to say; how it is made, or -1. */
static int answer_one(struct other_end *o, const uint8_t asked[WIRE_MESSAGE_BYTES])
{
	const uint8_t *how = take(o, 1), *said = take(o, WIRE_MESSAGE_BYTES);
	uint8_t reply[WIRE_MESSAGE_BYTES];

	if (!how || !said)
		return -1;
	memcpy(reply, said, sizeof(reply));
	for (int i = 0; i < 3; i++) /* type, number, slot */
		if (*how & 1 << i)
			memcpy(&reply[4 * i], &asked[4 * i], 4);
	for (int i = 0; i < (*how & TWICE ? 2 : 1); i++)
		send(o->fd, reply, sizeof(reply), MSG_NOSIGNAL);
	return *how;
}

/* It goes on till the number is right: who asked waits for that, seconds long. */
static void *answer(void *arg)
{
	struct other_end *o = arg;
	uint8_t asked[WIRE_MESSAGE_BYTES];
	int how = 0;

	while (how >= 0 && recv(o->fd, asked, sizeof(asked), MSG_WAITALL) == sizeof(asked))
		do
			how = answer_one(o, asked);
		while (how >= 0 && !(how & SAME_NUMBER));
	shutdown(o->fd, SHUT_WR);
	while (recv(o->fd, asked, sizeof(asked), 0) > 0) {
	}
	return NULL;
}

static void ask(int channel)
{
	static const struct request requests[] = {
		{.type = REQUEST_ADOPT, .slot = 1, .port = 7},
		{.type = REQUEST_CPU_TIME},
		{.type = REQUEST_EXPECT, .bytes = 5000},
		{.type = REQUEST_EXPECT, .slot = 1, .bytes = 1},
		{.type = REQUEST_MARK, .mark = 3},
		{.type = REQUEST_CPU_TIME},
		{.type = REQUEST_EXPECT, .slot = 1, .bytes = 9000},
		{.type = REQUEST_CPU_TIME},
	};

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		if (send(channel, &requests[i], sizeof(requests[i]), 0) != sizeof(requests[i]))
			abort();
	shutdown(channel, SHUT_WR);
}

static void serve(int fd, struct other_end *o)
{
	struct receiver_process p = {
		.listener = fd, .slot_count = SLOTS, .message_bytes = load.message_bytes};
	struct failure f = {0};
	pthread_t thread;
	int channel[2];

	p.slots = slot__map(SLOTS);
	p.verify = o->left & 1;
	if (!p.slots || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) ||
	    pthread_create(&thread, NULL, answer, o))
		abort();
	p.channel = channel[0];
	ask(channel[1]);
	peer_agent__serve(&p, load.peer, &f);
	for (int i = 0; i < SLOTS; i++)
		if (p.slots[i].verified.checked > p.slots[i].received ||
		    p.slots[i].verified.bad > p.slots[i].verified.checked)
			abort();
	shutdown(fd, SHUT_RDWR);
	pthread_join(thread, NULL);
	close(channel[0]);
	close(channel[1]);
	slot__unmap(p.slots, SLOTS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct other_end o = {.said = data, .left = size};
	uint8_t hellos[2 * WIRE_HELLO_BYTES];
	const struct peer peer = {0};
	struct failure f = {0};
	const uint8_t *first;
	size_t bytes;
	int fds[2];

	if (strstr(key, "XXXXXX"))
		make_key();
	first = take(&o, 1);
	bytes = first ? (*first & 1 ? 2 : 1) * WIRE_HELLO_BYTES : 0;
	if (!bytes || !(first = take(&o, bytes)))
		return 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) ||
	    send(fds[1], first, bytes, 0) != (ssize_t)bytes)
		abort();
	if (bytes == WIRE_HELLO_BYTES && first[7] == WIRE_CHALLENGE)
		shutdown(fds[1], SHUT_WR); /* nothing follows that it waits for */
	o.fd = fds[1];
	if (!peer__introduce(&peer, fds[0], 0, 1, &load, &f)) {
		if (recv(fds[1], hellos, sizeof(hellos), MSG_DONTWAIT) <= 0)
			abort();
		serve(fds[0], &o);
	}
	close(fds[0]);
	close(fds[1]);
	return 0;
}
