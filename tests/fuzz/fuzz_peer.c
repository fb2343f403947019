// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a receiver elsewhere says to its sender: a byte that says whether there is a key, then
 * answers, each after a byte of how it is made (enum): a hello to that of a connection, one to each
 * other hello, and to each message one without its signature.
 */
#include "loadgen/load.h"
#include "loadgen/receive/peer.h"
#include "loadgen/receive/receiver.h"

#include <endian.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* What it has of the question: of a hello its head, its slot and connection. */
enum { SAME_TYPE = 1, SAME_NUMBER = 2, SAME_SLOT = 4, TWICE = 8, UNSIGNED = 16 };

#define KEY	   "0123456789abcdef"
#define KEY_SIZE   (sizeof(KEY) - 1)
#define SLOTS	   2
#define TIMEOUT_MS 1000
#define BARE	   offsetof(struct wire_message, signature)

struct other_end {
	int fd;
	const uint8_t *said;
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

static const uint8_t *take(struct other_end *o, size_t bytes)
{
	const uint8_t *taken = o->said;

	if (o->left < bytes)
		return NULL;
	o->said += bytes;
	o->left -= bytes;
	return taken;
}

/* Answers a hello by bytes of how and what: its kind, or 0. */
static int answer_hello(struct other_end *o, int fd, const struct wire_hello *asked,
			const uint8_t *bytes)
{
	uint8_t how = bytes[0];
	struct wire_hello h;

	memcpy(&h, bytes + 1, sizeof(h));
	if (!(how & SAME_TYPE)) {
		send(fd, &h, sizeof(h), MSG_NOSIGNAL);
		return 0;
	}
	memcpy(h.magic, asked->magic, sizeof(h.magic));
	h.version = htobe16(WIRE_VERSION);
	if (wire__open_hello(&h, sizeof(h)))
		abort();
	if (how & SAME_SLOT) {
		h.slot = asked->slot;
		h.connection = asked->connection;
	}
	if (asked->kind == WIRE_CONTROL)
		memcpy(o->secret, h.secret, sizeof(o->secret));
	if (h.kind == WIRE_CHALLENGE)
		wire__agree(&(struct key){KEY_SIZE, KEY}, asked, &h, o->secret);
	wire__send_hello(fd, &h, how & UNSIGNED || asked->kind == WIRE_CONTROL ? NULL : o->secret);
	return h.kind;
}

/* One answer that is in what is left to say; how it is made, or -1. */
static int answer_one(struct other_end *o, struct wire_message *asked)
{
	const uint8_t *how = take(o, 1), *said = take(o, BARE);
	struct wire_message m = {0};

	if (!how || !said)
		return -1;
	if (wire__open(asked, o->secret))
		abort();
	memcpy(&m, said, BARE);
	wire__open(&m, o->secret);
	m.type = *how & SAME_TYPE ? asked->type | WIRE_REPLY : m.type;
	m.number = *how & SAME_NUMBER ? asked->number : m.number;
	m.slot = *how & SAME_SLOT ? asked->slot : m.slot;
	wire__seal(&m, o->secret);
	wire__seal(asked, o->secret);
	m.signature[0] += !!(*how & UNSIGNED);
	for (int i = 0; i < (*how & TWICE ? 2 : 1); i++)
		send(o->fd, &m, sizeof(m), MSG_NOSIGNAL);
	return *how;
}

/* Until the sender has said its last one. */
static bool answer_hellos(struct other_end *o)
{
	struct wire_hello asked = {0};
	const uint8_t *bytes;
	int kind;

	do {
		bytes = take(o, 1 + sizeof(asked));
		if (!bytes || wire__read_hello(o->fd, &asked, TIMEOUT_MS))
			return false;
		kind = answer_hello(o, o->fd, &asked, bytes);
	} while (o->keyed && kind == WIRE_CHALLENGE && asked.kind == WIRE_CONTROL);
	return kind == WIRE_ACCEPTED;
}

/* It goes on till the number is right: who asked waits for that, seconds long. */
static void answer(struct other_end *o)
{
	struct wire_message asked;
	int how = answer_hellos(o) ? 0 : -1;

	while (how >= 0 && recv(o->fd, &asked, sizeof(asked), MSG_WAITALL) == sizeof(asked))
		do
			how = answer_one(o, &asked);
		while (how >= 0 && !(how & SAME_NUMBER));
	shutdown(o->fd, SHUT_WR);
	while (recv(o->fd, &asked, sizeof(asked), 0) > 0) {
	}
}

/* One thread for all inputs: a sanitizer keeps something of each that ever was. */
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

static void serve(int fd, const struct peer *p)
{
	struct receiver_process r = {
		.listener = fd, .slot_count = SLOTS, .message_bytes = load.message_bytes};
	struct failure f = {0};
	int channel[2];

	r.slots = slot__map(SLOTS);
	r.verify = load.verify;
	if (!r.slots || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel))
		abort();
	r.channel = channel[0];
	ask(channel[1]);
	peer_agent__serve(&r, p, load.peer, &f);
	for (int i = 0; i < SLOTS; i++)
		if (r.slots[i].verified.checked > r.slots[i].received ||
		    r.slots[i].verified.bad > r.slots[i].verified.checked)
			abort();
	close(channel[0]);
	close(channel[1]);
	slot__unmap(r.slots, SLOTS);
}

/* A connection of its own; the answer is there before the question. */
static bool introduce(struct other_end *o, const struct peer *p, const uint8_t *bytes)
{
	struct wire_hello asked = {.magic = "SPLG", .kind = WIRE_DATA, .connection = 1};
	struct failure f = {0};
	int fds[2], err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		abort();
	answer_hello(o, fds[1], &asked, bytes);
	err = peer__introduce(p, fds[0], 0, 1, &load, &f);
	close(fds[0]);
	close(fds[1]);
	return !err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct other_end o = {.said = data, .left = size};
	const uint8_t *first = take(&o, 1), *introduced = take(&o, 1 + sizeof(struct wire_hello));
	struct peer peer = {0};
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
