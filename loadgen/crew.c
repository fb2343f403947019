/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "loadgen/crew.h"
#include "loadgen/dataset.h"
#include "loadgen/hist_stats.h"
#include "loadgen/options.h"
#include "loadgen/receiver.h"
#include "loadgen/requests.h"
#include "loadgen/send_ops.h"

struct worker {
	struct sender sender; /* first: keeps its alignment */
	struct slot *slot;
	struct requests requests; /* heard, where the load is asked for */
	struct receiver *receiver;
	unsigned int index; /* of the slot */
	struct crew *crew;
	pthread_t thread;
	uint64_t sent_before; /* bytes of earlier phases */
	uint64_t received_before;
	uint64_t end_ns; /* of the phase: the receiver had everything */
};

struct crew {
	const struct load *load;
	const struct send_ops *ops;
	struct dataset *dataset; /* NULL: messages have memory of their own */
	struct worker *workers;
	unsigned int count;
	int parked_fd;
	_Atomic unsigned int delivered; /* workers whose bytes all arrived, in this phase */

	pthread_mutex_t lock;
	pthread_cond_t begin;
	unsigned int phase; /* changes to begin one */
	unsigned int parked;
	bool leaving;
};

/* Returns in the next phase; false when there is none. */
static bool park(struct crew *c)
{
	unsigned int phase;
	bool go;

	pthread_mutex_lock(&c->lock);
	phase = c->phase;
	if (++c->parked == c->count)
		eventfd_write(c->parked_fd, 1);
	while (c->phase == phase && !c->leaving)
		pthread_cond_wait(&c->begin, &c->lock);
	go = !c->leaving;
	pthread_mutex_unlock(&c->lock);
	return go;
}

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
	if (load__rcvlowat(w->crew->load) > 1)
		receiver__mark(w->receiver, w->index, bytes);
}

/* Returns when the receiver has everything and no send is in flight. */
static int drain(struct worker *w)
{
	struct sender *s = &w->sender;
	uint64_t total = w->sent_before + s->sent.bytes;
	int err = 0;

	if (!(w->crew->ops->flags & SEND_NOTHING)) {
		push_tail(s->fd, w->crew->load->socket.nodelay);
		set_mark(w, 1);
		if (w->crew->load->peer)
			receiver__expect(w->receiver, w->index, total);
		err = slot__await(w->slot, total);
	}
	w->end_ns = now_ns();
	set_mark(w, load__rcvlowat(w->crew->load));
	atomic_fetch_add(&w->crew->delivered, 1);
	if (err)
		failure__set(&s->failure, STATUS_FAILED, err,
			     "the receiver took only %llu of %llu bytes of a connection",
			     (unsigned long long)atomic_load(&w->slot->received),
			     (unsigned long long)total);
	if (w->crew->ops->settle) {
		int settled = w->crew->ops->settle(s);

		err = err ? err : settled;
	}
	return err;
}

static int send_messages(struct worker *w, int (*run)(struct sender *s))
{
	return w->crew->load->workload == WORKLOAD_REQUEST
		       ? requests__answer(&w->sender, &w->requests, run)
		       : run(&w->sender);
}

static void run_phase(struct worker *w)
{
	const struct send_ops *ops = w->crew->ops;
	struct sender *s = &w->sender;
	int err;

	w->sent_before += s->sent.bytes;
	w->received_before = atomic_load(&w->slot->received);
	memset(&s->sent, 0, sizeof(s->sent));
	atomic_store(&w->slot->begin_ns, now_ns());
	if (!s->failure.status) {
		err = s->rate ? ops->run_paced(s) : send_messages(w, ops->runs[s->mode]);
		if (err)
			failure__set(&s->failure, STATUS_FAILED, err, "sending failed: %s",
				     strerror(-err));
	}
	drain(w);
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	const struct send_ops *ops = w->crew->ops;
	int err = ops->setup(&w->sender, w->crew->load);

	if (!err && w->crew->load->workload == WORKLOAD_REQUEST)
		err = requests__setup(&w->sender);
	if (err)
		failure__set(&w->sender.failure, STATUS_FAILED, err, "cannot set %s up: %s",
			     ops->name, strerror(-err));
	while (park(w->crew))
		if (!err)
			run_phase(w);
	if (!err)
		ops->teardown(&w->sender);
	return NULL;
}

static enum send_mode mode(const struct load *load)
{
	if (load->working_set)
		return SEND_PICKED;
	return load->verify || load->reuse_early ? SEND_REFILL : SEND_AS_IS;
}

static void init_worker(struct crew *c, unsigned int i, int fd, struct slot *slot,
			struct receiver *receiver)
{
	const struct load *load = c->load;
	struct worker *w = &c->workers[i];

	w->crew = c;
	w->slot = w->sender.slot = slot;
	w->receiver = receiver;
	w->index = i;
	w->sender.fd = fd;
	w->sender.connection = slot->verified.connection;
	w->sender.dataset = c->dataset;
	w->sender.mode = mode(load);
	w->sender.rate = load->rate;
	w->sender.flags = load->socket.more ? MSG_MORE : 0;
}

static struct crew *allocate(const struct load *load, const struct send_ops *ops)
{
	struct crew *c = calloc(1, sizeof(*c));
	size_t size = load->threads * sizeof(struct worker);

	if (!c)
		return NULL;
	c->parked_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	c->workers = aligned_alloc(_Alignof(struct worker), size);
	if (!c->workers || c->parked_fd < 0) {
		free(c->workers);
		if (c->parked_fd >= 0)
			close(c->parked_fd);
		free(c);
		return NULL;
	}
	memset(c->workers, 0, size);
	atomic_store(&c->delivered, load->threads); /* before the first phase, nothing is due */
	c->load = load;
	c->ops = ops;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->begin, NULL);
	return c;
}

int crew__create(struct crew **crew, const struct load *load, const struct send_ops *ops,
		 const int *fds, struct slot *slots, struct receiver *receiver, struct failure *f)
{
	struct crew *c = allocate(load, ops);
	int err = 0;

	if (!c)
		return failure__set(f, STATUS_FAILED, -ENOMEM, "out of memory for %u threads",
				    load->threads);
	err = dataset__create(&c->dataset, load, f);
	if (err) {
		crew__destroy(c);
		return err;
	}
	pthread_mutex_lock(&c->lock); /* nobody counts as parked until count stands */
	for (unsigned int i = 0; i < load->threads && !err; i++) {
		init_worker(c, i, fds[i], &slots[i], receiver);
		err = pthread_create(&c->workers[i].thread, NULL, worker_main, &c->workers[i]);
		c->count += !err;
	}
	pthread_mutex_unlock(&c->lock);
	if (!err) {
		*crew = c;
		return 0;
	}
	failure__set(f, STATUS_FAILED, -err, "cannot start thread %u of %u: %s", c->count + 1,
		     load->threads, strerror(err));
	crew__destroy(c);
	return -err;
}

void crew__destroy(struct crew *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->leaving = true;
	pthread_cond_broadcast(&c->begin);
	pthread_mutex_unlock(&c->lock);
	for (unsigned int i = 0; i < c->count; i++)
		pthread_join(c->workers[i].thread, NULL);
	pthread_cond_destroy(&c->begin);
	pthread_mutex_destroy(&c->lock);
	close(c->parked_fd);
	dataset__destroy(c->dataset);
	free(c->workers);
	free(c);
}

int crew__fd(const struct crew *c)
{
	return c->parked_fd;
}

void crew__acknowledge(struct crew *c)
{
	eventfd_t count;

	eventfd_read(c->parked_fd, &count);
}

void crew__begin(struct crew *c, uint64_t deadline_ns, uint64_t messages)
{
	pthread_mutex_lock(&c->lock);
	for (unsigned int i = 0; i < c->count; i++) {
		atomic_store(&c->workers[i].sender.deadline_ns, deadline_ns);
		c->workers[i].sender.remaining = messages;
	}
	atomic_store(&c->delivered, 0);
	c->parked = 0;
	c->phase++;
	pthread_cond_broadcast(&c->begin);
	pthread_mutex_unlock(&c->lock);
}

void crew__stop(struct crew *c)
{
	for (unsigned int i = 0; i < c->count; i++)
		atomic_store(&c->workers[i].sender.deadline_ns, 0);
}

bool crew__delivered(const struct crew *c)
{
	return atomic_load(&c->delivered) == c->count;
}

void crew__abandon(struct crew *c)
{
	for (unsigned int i = 0; i < c->count; i++) {
		struct worker *w = &c->workers[i];

		atomic_store(&w->sender.abandoned, true);
		shutdown(w->sender.fd, SHUT_RDWR);
		slot__end(w->slot);
	}
}

static void add(struct sent *sum, const struct sent *one)
{
	sum->messages += one->messages;
	sum->due += one->due;
	sum->bytes += one->bytes;
	sum->calls += one->calls;
	sum->zerocopy.requests += one->zerocopy.requests;
	sum->zerocopy.completions += one->zerocopy.completions;
	sum->zerocopy.copied += one->zerocopy.copied;
	sum->zerocopy.enobufs += one->zerocopy.enobufs;
	sum->zerocopy.notifications += one->zerocopy.notifications;
	sum->zerocopy.copied_unknown |= one->zerocopy.copied_unknown;
	for (int i = 0; i < ERRNO_LIMIT; i++)
		sum->errors[i] += one->errors[i];
	hist__merge(&sum->latency, &one->latency);
}

void crew__sum(const struct crew *c, struct sent *sum, struct hist *requests, uint64_t *received,
	       uint64_t *end_ns)
{
	memset(requests, 0, sizeof(*requests));
	*received = *end_ns = 0;
	memset(sum, 0, sizeof(*sum));
	for (unsigned int i = 0; i < c->count; i++) {
		const struct worker *w = &c->workers[i];

		add(sum, &w->sender.sent);
		if (w->slot->requests_since == atomic_load(&w->slot->begin_ns))
			hist__merge(requests, &w->slot->requests);
		*received += atomic_load(&w->slot->received) - w->received_before;
		if (w->end_ns > *end_ns)
			*end_ns = w->end_ns;
	}
}

void crew__failure(const struct crew *c, struct failure *f)
{
	for (unsigned int i = 0; i < c->count; i++)
		failure__adopt(f, &c->workers[i].sender.failure);
}
