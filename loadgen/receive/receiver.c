/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loadgen/data/message.h"
#include "loadgen/load.h"
#include "loadgen/receive/receiver.h"
#include "loadgen/receive/wire.h"
#include "loadgen/send/sender.h"
#include "loadgen/system/listener.h"

/*
 * The size of the receive buffer is a message's, within bounds. A large buffer saves system calls:
 * it has room for what arrives during the previous recv(). A small one keeps copied data in the
 * cache and reopens the window soon. The buffers of many connections together are bounded, too:
 * with the most connections, each has 64 KiB.
 */
#define BUFFER_MIN	 (512u << 10)
#define BUFFER_MAX	 (1u << 20)
#define BUFFERS_MAX	 (64u << 20)
#define ADOPT_TIMEOUT_MS 5000
#define TIMEOUT_MS	 1000

struct connection {
	const struct receiver_process *process;
	int fd;
	struct slot *slot;
	size_t room;
	bool empty; /* no data waited after the last recv() */
	_Alignas(4096) char buffer[];
};

/*
 * Receives after poll(), which notices a new SO_RCVLOWAT; a blocking recv() would keep the value
 * from its start. A recv() that returned less than requested has emptied the queue.
 */
static ssize_t receive_some(struct connection *c)
{
	bool marks = c->process->marks;
	struct pollfd p = {.fd = c->fd, .events = POLLIN};
	ssize_t n;

	do {
		if (marks && c->empty && poll(&p, 1, -1) < 0 && errno != EINTR)
			return -1;
		n = recv(c->fd, c->buffer, c->room, marks ? MSG_DONTWAIT : 0);
		c->empty = n != (ssize_t)c->room;
	} while (n < 0 && (errno == EAGAIN || errno == EINTR));
	if (n > 0 && c->process->verify)
		pattern__check(&c->slot->verified, c->buffer, (size_t)n);
	return n;
}

/* Counts the time of a request that was sent in this phase. */
static void count_request(struct slot *s, uint64_t requested_ns)
{
	uint64_t phase = atomic_load(&s->begin_ns);

	if (s->requests_since != phase) {
		memset(&s->requests, 0, sizeof(s->requests));
		s->requests_since = phase;
	}
	hist_add(&s->requests, now_ns() - (requested_ns > phase ? requested_ns : phase));
}

/* Requests a message. MSG_NOSIGNAL: the sender may be gone. Any buffer has room for 64 bytes. */
static bool request_message(struct connection *c, uint64_t *requested_ns)
{
	static const char request[REQUEST_BYTES];

	*requested_ns = now_ns();
	return send(c->fd, request, sizeof(request), MSG_NOSIGNAL) == sizeof(request);
}

static void *receive(void *connection)
{
	struct connection *c = connection;
	bool requests = c->process->requests;
	uint64_t bytes = c->process->stream.message_bytes, end = requests ? bytes : UINT64_MAX;
	uint64_t received = 0, requested_ns = 0;
	bool more = !requests || request_message(c, &requested_ns);
	ssize_t n;

	while (more && (n = receive_some(c)) > 0) {
		bool whole;

		received += (uint64_t)n;
		whole = received >= end;
		if (whole)
			count_request(c->slot, requested_ns);
		slot__publish(c->slot, received);
		end += whole ? bytes : 0;
		more = !whole || request_message(c, &requested_ns);
	}
	atomic_store(&c->slot->socket, 0);
	close(c->fd);
	slot__end(c->slot);
	free(c);
	return NULL;
}

static size_t room(size_t message_bytes, unsigned int connections)
{
	size_t share = BUFFERS_MAX / connections;
	size_t wanted = message_bytes > BUFFER_MIN ? message_bytes : BUFFER_MIN;
	size_t most = share < BUFFER_MAX ? share : BUFFER_MAX;

	return wanted < most ? wanted : most;
}

int receiver_process__start(const struct receiver_process *p, int fd, unsigned int slot,
			    uint32_t connection, pthread_t *thread)
{
	size_t bytes = room(p->stream.message_bytes, p->slot_count);
	struct slot *s = &p->slots[slot];
	struct connection *c;
	int err = posix_memalign((void **)&c, _Alignof(struct connection), sizeof(*c) + bytes);

	if (err)
		return -err;
	*c = (struct connection){.process = p, .fd = fd, .slot = s, .room = bytes};
	s->verified = p->stream;
	s->verified.connection = connection;
	atomic_store(&s->socket, fd);
	err = pthread_create(thread, NULL, receive, c);
	if (err) {
		atomic_store(&s->socket, 0);
		free(c);
	}
	return -err;
}

/*
 * Accepts our sender's connection and closes those of others. If our sender never connects, it
 * stops waiting and ends this process.
 */
static int accept_from(int listener, unsigned int port)
{
	struct sockaddr_storage peer;
	int fd;

	while ((fd = listener__accept(listener, &peer, 0)) >= 0 && listener__port_of(&peer) != port)
		close(fd);
	return fd;
}

/* Starts a slot's thread. A failure here ends the run and this process. */
static int adopt(const struct receiver_process *p, const struct request *q)
{
	unsigned int port = (unsigned int)q->values[0];
	int fd = accept_from(p->listener, port);
	pthread_t thread;
	int err = fd < 0 ? fd : receiver_process__start(p, fd, q->slot, port, &thread);

	return err ? err : -pthread_detach(thread);
}

/* Sets SO_RCVLOWAT of the slot's connection. */
static int apply_mark(const struct receiver_process *p, const struct request *q)
{
	int fd = atomic_load(&p->slots[q->slot].socket), bytes = (int)q->values[0];

	return fd && setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes)) ? -errno : 0;
}

void receiver_process__answer(struct request *q, void *process)
{
	if (q->type == REQUEST_ADOPT)
		q->err = adopt(process, q);
	else if (q->type == REQUEST_MARK)
		q->err = apply_mark(process, q);
	else
		cpu_time__answer(q);
}

double receiver__need(const struct load *load)
{
	return load->peer
		       ? 0
		       : (double)load->threads * (double)room(load->message_bytes, load->threads);
}

int receiver__start(struct child *r, struct listener *l, struct slot *slots,
		    const struct load *load, const struct peer *peer, const struct cpus *cpus,
		    struct failure *f)
{
	struct receiver_process p = {
		.listener = l->fd,
		.slots = slots,
		.slot_count = load->threads,
		.stream = {.message_bytes = load->message_bytes, .picker = dataset__picker(load)},
		.verify = load->verify,
		.requests = load->workload == WORKLOAD_REQUEST,
		.marks = load->rcvlowat > 1,
	};
	int err = child__fork(r, "receiver", sizeof(struct failure), l->fd,
			      cpus->split ? &cpus->receiver : NULL, f);

	if (err > 0) {
		struct failure *last_words = r->shared;

		p.channel = r->channel;
		if (load->peer)
			peer__serve(peer, &p, last_words);
		else
			while (child__answer(p.channel, receiver_process__answer, &p))
				;
		_exit(last_words->status);
	}
	listener__close(l);
	return err;
}

int receiver__request(struct child *r, enum request_type type, unsigned int slot, uint64_t bytes)
{
	return child__request(r, &(struct request){.type = type, .slot = slot, .values = {bytes}},
			      TIMEOUT_MS);
}

int receiver__adopt(struct child *r, unsigned int slot, unsigned int port, struct failure *f)
{
	struct request q = {.type = REQUEST_ADOPT, .slot = slot, .values = {port}};
	int err = child__request(r, &q, ADOPT_TIMEOUT_MS);

	if (err == -EPIPE)
		child__explain_death(r, f);
	return failure__set(f, STATUS_FAILED, err,
			    "the receiver did not get the connection from port %u: %m", port);
}
