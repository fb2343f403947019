// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <linux/sockios.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "loadgen/load.h"
#include "loadgen/receive/receiver.h"
#include "loadgen/run/workers.h"
#include "loadgen/send/send_ops.h"

#define LOOK_US 100000 /* how long a phase's end may go unseen, where nobody asks */

/*
 * A small last segment may be held back until older data are acknowledged, which
 * a receiver may delay: setting the option pushes it out. Nothing is sent with
 * it set, so that the phases run as the socket came.
 */
static void push_tail(int fd, bool stays)
{
	for (int on = 1; on >= stays; on--)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/* If the receiver cannot hear, waiting for it will tell. */
static void set_mark(struct worker *w, int bytes)
{
	if (w->load->rcvlowat > 1)
		receiver__request(w->receiver, REQUEST_MARK, w->index, (uint64_t)bytes);
}

/* What is said to be there has left, and is no more than was sent. */
static bool claims_too_much(const struct worker *w, uint64_t total)
{
	int unsent = 0;

	return w->received > total || (w->load->peer && w->received == total &&
				       !ioctl(w->sender.fd, SIOCOUTQNSD, &unsent) && unsent);
}

/* Returns when the receiver has everything and no send is in flight. */
static void drain(struct worker *w)
{
	struct sender *s = &w->sender;
	uint64_t total = w->sent_before + s->sent.bytes;
	int err = 0;

	if (!(w->ops->flags & SEND_NOTHING)) {
		push_tail(s->fd, w->load->socket.nodelay);
		set_mark(w, 1);
		if (w->load->peer)
			receiver__request(w->receiver, REQUEST_STATE, w->index, total);
		err = slot__await(w->slot, total);
	}
	w->end_ns = now_ns();
	w->received = atomic_load(&w->slot->received);
	set_mark(w, (int)w->load->rcvlowat);
	atomic_store(&w->delivered, true);
	if (claims_too_much(w, total))
		err = failure__set(
			&s->failure, STATUS_FAILED, -EPROTO,
			"the receiver says that it has %llu bytes of a connection, on "
			"which %llu were sent, not all of them yet: is it loadgen serve?",
			(unsigned long long)w->received, (unsigned long long)total);
	if (err)
		failure__set(&s->failure, STATUS_FAILED, err,
			     "the receiver took only %llu of %llu bytes of a connection",
			     (unsigned long long)w->received, (unsigned long long)total);
	if (w->ops->settle)
		w->ops->settle(s);
}

/*
 * Not poll(): it would return at once while completions wait in the error queue, which
 * the variant reads when it sends.
 */
static int bound_waiting(struct sender *s)
{
	struct timeval t = {.tv_usec = LOOK_US};

	return setsockopt(s->fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)) ? -errno : 0;
}

/* 1: the next request is complete; 0: not yet; -EPIPE: the other end asks no more; or -errno. */
static int read_request(struct sender *s, unsigned int *read)
{
	char request[REQUEST_BYTES];
	ssize_t n;

	if (*read == REQUEST_BYTES)
		return 1;
	n = recv(s->fd, request, REQUEST_BYTES - *read, 0);
	if (!n)
		return -EPIPE;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	*read += (unsigned int)n;
	return *read == REQUEST_BYTES;
}

/* Answers each request with one message, until the deadline has passed or none remain. */
static int answer_requests(struct sender *s, unsigned int *read, int (*run)(struct sender *s))
{
	uint64_t left = s->remaining;
	int err;

	while (left && now_ns() < atomic_load_explicit(&s->deadline_ns, memory_order_relaxed)) {
		err = read_request(s, read);
		if (err < 0)
			return err;
		if (!err)
			continue;
		s->remaining = 1;
		err = run(s);
		if (err)
			return err;
		if (s->remaining) /* the deadline came first: the request stays */
			continue;
		*read = 0;
		left--;
	}
	return 0;
}

static int send_messages(struct worker *w, int (*run)(struct sender *s))
{
	return w->load->workload == WORKLOAD_REQUEST
		       ? answer_requests(&w->sender, &w->request_read, run)
		       : run(&w->sender);
}

static void run_phase(struct worker *w)
{
	const struct send_ops *ops = w->ops;
	struct sender *s = &w->sender;
	int err;

	w->sent_before += s->sent.bytes;
	w->received_before = w->received;
	memset(&s->sent, 0, sizeof(s->sent));
	atomic_store(&w->slot->begin_ns, now_ns());
	if (!s->failure.status) {
		err = send_messages(w, ops->runs[s->rate ? SEND_PACED : s->mode]);
		if (err)
			failure__set(&s->failure, STATUS_FAILED, err, "sending failed: %s",
				     strerror(-err));
	}
	drain(w);
}

/* 0, or a negative errno with the words in the sender's failure. */
static int set_up(struct worker *w)
{
	int err;

	w->sender.state = calloc(1, w->ops->state_bytes);
	err = !w->sender.state ? -ENOMEM : w->ops->setup ? w->ops->setup(&w->sender, w->load) : 0;
	if (err) {
		free(w->sender.state);
		w->sender.state = NULL;
	}
	if (!err && w->load->workload == WORKLOAD_REQUEST)
		err = bound_waiting(&w->sender);
	if (err)
		failure__set(&w->sender.failure, STATUS_FAILED, err, "cannot set %s up: %s",
			     w->ops->name, strerror(-err));
	return err;
}

void *worker__main(void *worker)
{
	struct worker *w = worker;
	int err = set_up(w);

	while (barrier__wait(w->barrier, &w->sender.failure))
		if (!err)
			run_phase(w);
	if (!err && w->ops->teardown)
		w->ops->teardown(&w->sender);
	if (!err)
		free(w->sender.state);
	return NULL;
}
