/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loadgen/receive/listener.h"
#include "loadgen/receive/receiver_process.h"
#include "loadgen/send/sender.h"

/*
 * A message's size, within bounds: large enough that a system call costs little beside
 * the copy, and that what comes during one is taken by it; small enough that what is
 * copied stays near, and that the window opens again soon. Those of many connections
 * together are bounded, too: 64 KiB each is what is left to the most that there may be.
 */
#define BUFFER_MIN	  (512u << 10)
#define BUFFER_MAX	  (1u << 20)
#define BUFFERS_MAX	  (64u << 20)
#define ACCEPT_TIMEOUT_MS 5000

struct connection {
	const struct receiver_process *process;
	int fd;
	struct slot *slot;
	char *buffer;
	size_t room;
	bool empty; /* nothing waits, as far as is known */
};

static ssize_t receive_any(struct connection *c)
{
	ssize_t n;

	do
		n = recv(c->fd, c->buffer, c->room, 0);
	while (n < 0 && errno == EINTR);
	return n;
}

/*
 * A blocking recv() would keep to the mark that stood when it began; poll() hears
 * of a new one. What came less than asked for was all there was.
 */
static ssize_t receive_some(struct connection *c)
{
	struct pollfd p = {.fd = c->fd, .events = POLLIN};
	ssize_t n;

	if (!c->process->marks)
		return receive_any(c);
	for (;;) {
		if (c->empty && poll(&p, 1, -1) < 0 && errno != EINTR)
			return -1;
		n = recv(c->fd, c->buffer, c->room, MSG_DONTWAIT);
		c->empty = n != (ssize_t)c->room;
		if (n >= 0 || (errno != EAGAIN && errno != EINTR))
			return n;
	}
}

static ssize_t receive_checked(struct connection *c)
{
	ssize_t n = receive_some(c);

	if (n > 0 && c->process->verify)
		pattern__check(&c->slot->verified, c->buffer, (size_t)n);
	return n;
}

static void receive(struct connection *c)
{
	uint64_t received = 0;

	for (;;) {
		ssize_t n = receive_checked(c);

		if (n <= 0)
			return;
		received += (uint64_t)n;
		slot__publish(c->slot, received);
	}
}

/* What was asked before the phase waited for its beginning: that is not in its time. */
static void count_request(struct slot *s, uint64_t asked_ns)
{
	uint64_t phase = atomic_load(&s->begin_ns);

	if (s->requests_since != phase) {
		memset(&s->requests, 0, sizeof(s->requests));
		s->requests_since = phase;
	}
	hist_add(&s->requests, now_ns() - (asked_ns > phase ? asked_ns : phase));
}

/* MSG_NOSIGNAL as the sender's end may be gone; 64 bytes find room in any send buffer. */
static bool request_message(struct connection *c)
{
	static const char request[REQUEST_BYTES];

	return send(c->fd, request, sizeof(request), MSG_NOSIGNAL) == sizeof(request);
}

static void receive_requested(struct connection *c)
{
	size_t message_bytes = c->process->message_bytes;
	uint64_t received = 0, asked_ns = now_ns(), end = message_bytes;

	if (!request_message(c))
		return;
	for (;;) {
		ssize_t n = receive_checked(c);

		if (n <= 0)
			return;
		received += (uint64_t)n;
		if (received < end) {
			slot__publish(c->slot, received);
			continue;
		}
		count_request(c->slot, asked_ns);
		slot__publish(c->slot, received);
		end += message_bytes;
		asked_ns = now_ns();
		if (!request_message(c))
			return;
	}
}

static void finish(struct connection *c)
{
	int fd = atomic_exchange(&c->slot->socket, 0);

	if (fd)
		close(fd);
	slot__end(c->slot);
	free(c->buffer);
	free(c);
}

static void *receive_plain(void *arg)
{
	receive(arg);
	finish(arg);
	return NULL;
}

static void *receive_asking(void *arg)
{
	receive_requested(arg);
	finish(arg);
	return NULL;
}

size_t receiver_process__room(size_t message_bytes, unsigned int connections)
{
	size_t share = BUFFERS_MAX / connections, wanted = message_bytes;

	if (wanted < BUFFER_MIN)
		wanted = BUFFER_MIN;
	if (wanted > BUFFER_MAX)
		wanted = BUFFER_MAX;
	return wanted < share ? wanted : share;
}

static int start_thread(const struct receiver_process *p, int fd, struct slot *slot,
			pthread_t *thread)
{
	struct connection *c = calloc(1, sizeof(*c));
	int err = ENOMEM;

	if (!c)
		return -ENOMEM;
	c->process = p;
	c->fd = fd;
	c->slot = slot;
	atomic_store(&slot->socket, fd);
	c->room = receiver_process__room(p->message_bytes, p->slot_count);
	if (posix_memalign((void **)&c->buffer, 4096, c->room))
		goto fail;
	err = pthread_create(thread, NULL, p->asks ? receive_asking : receive_plain, c);
	if (!err)
		return 0;
	free(c->buffer);
fail:
	atomic_store(&slot->socket, 0);
	free(c);
	return -err;
}

int receiver_process__start(const struct receiver_process *p, int fd, unsigned int slot,
			    uint32_t connection, pthread_t *thread)
{
	p->slots[slot].verified.connection = connection;
	p->slots[slot].verified.message_bytes = p->message_bytes;
	p->slots[slot].verified.picker = p->picker;
	return start_thread(p, fd, &p->slots[slot], thread);
}

/* Whoever else connected to our port is turned away: only our sender's counts. */
static int accept_from(int listener, unsigned int port)
{
	uint64_t end = now_ns() + ACCEPT_TIMEOUT_MS * 1000000ULL, now;

	while ((now = now_ns()) < end) {
		struct pollfd p = {.fd = listener, .events = POLLIN};
		struct sockaddr_storage peer;
		socklen_t length = sizeof(peer);
		int fd;

		if (poll(&p, 1, (int)((end - now) / 1000000 + 1)) <= 0)
			continue; /* late, or interrupted */
		fd = accept4(listener, (struct sockaddr *)&peer, &length, SOCK_CLOEXEC);
		if (fd < 0 && errno != EINTR && errno != ECONNABORTED)
			return -errno;
		if (fd < 0)
			continue;
		if (listener__port_of(&peer) == port)
			return fd;
		close(fd);
	}
	return -ETIMEDOUT;
}

static int adopt(const struct receiver_process *p, const struct request *q)
{
	int fd = accept_from(p->listener, q->port);
	pthread_t thread;
	int err;

	if (fd < 0)
		return fd;
	err = receiver_process__start(p, fd, q->slot, q->port, &thread);
	if (err)
		close(fd);
	else
		pthread_detach(thread);
	return err;
}

int receiver_process__mark(const struct receiver_process *p, unsigned int slot, int bytes)
{
	int fd = atomic_load(&p->slots[slot].socket);

	return fd && setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes)) ? -errno : 0;
}

void receiver_process__serve(const struct receiver_process *p)
{
	struct request q;

	for (;;) {
		struct reply reply = {0};
		ssize_t n = read(p->channel, &q, sizeof(q));

		if (n < 0 && errno == EINTR)
			continue;
		if (n != sizeof(q))
			return;
		reply.number = q.number;
		if (q.type == REQUEST_ADOPT)
			reply.err = adopt(p, &q);
		else if (q.type == REQUEST_MARK)
			reply.err = receiver_process__mark(p, q.slot, q.mark);
		else if (q.type == REQUEST_CPU_TIME)
			reply.time = cpu_time__own();
		if (write(p->channel, &reply, sizeof(reply)) != sizeof(reply))
			return;
	}
}
