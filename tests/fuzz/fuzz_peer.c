// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Fuzzes what a sender reads from a receiver on another machine. The input has a byte that selects
 * a key or none, then answers in this machine's byte order, each after a byte of flags (enum).
 * There is an answer for the message that introduces a connection, for each message that begins the
 * session, and for each request.
 */
#include "loadgen/load.h"
#include "loadgen/receive/receiver.h"
#include "loadgen/receive/wire.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * Flags of an answer. SAME_ flags copy a part of the question; at the beginning of a session, they
 * copy the head and the slot.
 */
enum { SAME_TYPE = 1, SAME_NUMBER = 2, SAME_SLOT = 4, TWICE = 8, UNSIGNED = 16 };

#define KEY	    "0123456789abcdef"
#define KEY_SIZE    (sizeof(KEY) - 1)
#define SLOTS	    2
#define TIMEOUT_MS  1000
#define PATIENCE_MS 10000 /* a correct sender closes earlier */

struct other_end {
	int fd;
	const uint8_t *input;
	size_t left;
	bool keyed;
	uint8_t secret[SECRET_BYTES];
};

static char key[] = "/dev/shm/sendpath-key-XXXXXX";
static struct load load = {.peer = "fuzzer:1",
			   .variant = "onecopy",
			   .message_bytes = 1000,
			   .fields = 1,
			   .threads = SLOTS};

static void remove_key(void)
{
	unlink(key);
}

static void make_key(void)
{
	int fd = mkstemp(key);

	if (fd < 0 || write(fd, KEY, KEY_SIZE) != KEY_SIZE || close(fd))
		abort();
	atexit(remove_key);
}

static const uint8_t *read_input(struct other_end *o, size_t bytes)
{
	const uint8_t *start = o->input;

	if (o->left < bytes)
		return NULL;
	o->input += bytes;
	o->left -= bytes;
	return start;
}

/* Answers a message from input bytes; the first has the flags. Returns the answer's type or 0. */
static uint32_t answer_first(struct other_end *o, int fd, const struct wire_message *question,
			     const uint8_t *bytes)
{
	uint8_t how = bytes[0];
	struct wire_message m;

	memcpy(&m, bytes + 1, sizeof(m));
	if (!(how & SAME_TYPE)) {
		send(fd, &m, sizeof(m), MSG_NOSIGNAL);
		return 0;
	}
	if (how & SAME_SLOT)
		m.q.slot = question->q.slot;
	wire__send(fd, &m, how & UNSIGNED || question->q.type == WIRE_CONTROL ? NULL : o->secret);
	if (m.q.type == WIRE_CHALLENGE)
		wire__agree(&(struct key){o->keyed ? KEY_SIZE : 0, KEY}, question, &m, o->secret);
	return m.q.type;
}

/* Sends the next answer of the input. Returns its flags, or -1 at the end of the input. */
static int answer_one(struct other_end *o, const struct wire_message *question)
{
	struct wire_message m = {0};
	const uint8_t *how = read_input(o, 1), *head = read_input(o, sizeof(m.q));

	if (!how || !head)
		return -1;
	memcpy(&m.q, head, sizeof(m.q));
	m.q.type = *how & SAME_TYPE ? question->q.type | WIRE_REPLY : m.q.type;
	m.q.number = *how & SAME_NUMBER ? question->q.number : m.q.number;
	m.q.slot = *how & SAME_SLOT ? question->q.slot : m.q.slot;
	for (int i = 0; i < (*how & TWICE ? 2 : 1); i++)
		wire__send(o->fd, &m, *how & UNSIGNED ? NULL : o->secret);
	return *how;
}

/* Answers the messages that begin the session, until the sender has sent the last one. */
static bool answer_begin(struct other_end *o)
{
	struct wire_message question = {0};
	const uint8_t *bytes;
	uint32_t type;

	do {
		bytes = read_input(o, 1 + sizeof(question));
		if (!bytes || wire__await(o->fd, &question, TIMEOUT_MS))
			return false;
		type = answer_first(o, o->fd, &question, bytes);
	} while (type == WIRE_CHALLENGE && question.q.type == WIRE_CONTROL);
	return type == (question.q.type | WIRE_REPLY);
}

/* Answers each question until an answer has its number, for which the sender waits. */
static void answer(struct other_end *o)
{
	struct wire_message question = {0};
	int how = answer_begin(o) ? 0 : -1;

	while (how >= 0 && !wire__await(o->fd, &question, PATIENCE_MS))
		do
			how = answer_one(o, &question);
		while (how >= 0 && !(how & SAME_NUMBER));
	shutdown(o->fd, SHUT_WR);
	while (recv(o->fd, &question, sizeof(question), 0) > 0) {
	}
}

/* One thread handles all inputs, because a sanitizer keeps memory for every ended thread. */
static pthread_barrier_t turn;
static struct other_end *current;

static void *answer_each(void *unused)
{
	for (;;) {
		pthread_barrier_wait(&turn);
		answer(current);
		pthread_barrier_wait(&turn);
	}
	return unused;
}

static void begin(void)
{
	pthread_t thread;

	make_key();
	if (pthread_barrier_init(&turn, NULL, 2) ||
	    pthread_create(&thread, NULL, answer_each, NULL))
		abort();
}

static void send_request(int channel)
{
	static const struct request requests[] = {
		{.type = REQUEST_CPU_TIME},
		{.type = REQUEST_STATE, .values = {5000}},
		{.type = REQUEST_STATE, .slot = 1, .values = {1}},
		{.type = REQUEST_MARK, .values = {3}},
		{.type = REQUEST_CPU_TIME},
		{.type = REQUEST_STATE, .slot = 1, .values = {9000}},
		{.type = REQUEST_CPU_TIME},
	};

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		if (send(channel, &requests[i], sizeof(requests[i]), 0) != sizeof(requests[i]))
			abort();
	shutdown(channel, SHUT_WR);
}

static void serve(int fd, const struct peer *p)
{
	struct receiver_process r = {
		.listener = fd, .slot_count = SLOTS, .stream.message_bytes = load.message_bytes};
	struct failure f = {0};
	int channel[2];

	r.slots = slot__map(SLOTS);
	r.verify = load.verify;
	if (!r.slots || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel))
		abort();
	r.channel = channel[0];
	send_request(channel[1]);
	peer__serve(p, &r, &f);
	for (int i = 0; i < SLOTS; i++)
		if (r.slots[i].verified.found.checked > r.slots[i].received ||
		    r.slots[i].verified.found.bad > r.slots[i].verified.found.checked)
			abort();
	close(channel[0]);
	close(channel[1]);
	slot__unmap(r.slots, SLOTS);
}

/* Introduces a connection, with the other end's answer written in advance. */
static bool introduce(struct other_end *o, const struct peer *p, const uint8_t *bytes)
{
	struct wire_message question = {.q = {.type = WIRE_DATA, .values = {1}}};
	struct failure f = {0};
	int fds[2], err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		abort();
	answer_first(o, fds[1], &question, bytes);
	err = peer__introduce(p, fds[0], 0, 1, &f);
	close(fds[0]);
	close(fds[1]);
	return !err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct other_end o = {.input = data, .left = size};
	const uint8_t *first = read_input(&o, 1),
		      *introduced = read_input(&o, 1 + sizeof(struct wire_message));
	struct peer peer = {.name = load.peer};
	struct failure f = {0};
	int fds[2];

	if (strstr(key, "XXXXXX"))
		begin();
	if (!first || !introduced)
		return 0;
	o.keyed = *first & 1;
	load.key = o.keyed ? key : NULL;
	load.verify = *first & 2;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		abort();
	o.fd = fds[1];
	current = &o;
	pthread_barrier_wait(&turn);
	if (!peer__greet(&peer, fds[0], &load, &f) && introduce(&o, &peer, introduced))
		serve(fds[0], &peer);
	shutdown(fds[0], SHUT_RDWR);
	pthread_barrier_wait(&turn);
	close(fds[0]);
	close(fds[1]);
	return 0;
}
