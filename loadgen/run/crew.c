/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/hist_stats.h"
#include "loadgen/data/dataset.h"
#include "loadgen/load.h"
#include "loadgen/run/crew.h"
#include "loadgen/run/worker.h"

struct crew {
	const struct load *load;
	const struct send_ops *ops;
	struct dataset *dataset; /* NULL: messages have memory of their own */
	struct worker *workers;
	_Atomic unsigned int delivered; /* workers whose bytes all arrived, in this phase */
	struct barrier barrier;
};

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	int err = worker__setup(w);

	while (barrier__wait(crew__barrier(w->crew)))
		if (!err)
			worker__phase(w);
	if (!err)
		worker__teardown(w);
	return NULL;
}

static struct crew *allocate(const struct load *load, const struct send_ops *ops)
{
	struct crew *c = calloc(1, sizeof(*c));
	size_t size = load->threads * sizeof(struct worker);

	if (!c)
		return NULL;
	c->workers = aligned_alloc(_Alignof(struct worker), size);
	if (!c->workers || barrier__init(&c->barrier)) {
		free(c->workers);
		free(c);
		return NULL;
	}
	memset(c->workers, 0, size);
	atomic_store(&c->delivered, load->threads); /* before the first phase, nothing is due */
	c->load = load;
	c->ops = ops;
	return c;
}

int crew__create(struct crew **crew, const struct load *load, const struct send_ops *ops,
		 const int *fds, struct slot *slots, struct child *receiver, struct failure *f)
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
	pthread_mutex_lock(&c->barrier.lock); /* nobody counts as parked until count stands */
	for (unsigned int i = 0; i < load->threads && !err; i++) {
		struct worker *w = &c->workers[i];

		*w = (struct worker){
			.load = load,
			.ops = ops,
			.crew = c,
			.delivered = &c->delivered,
			.slot = &slots[i],
			.receiver = receiver,
			.index = i,
		};
		worker__init(w, fds[i], c->dataset);
		err = pthread_create(&c->workers[i].thread, NULL, worker_main, &c->workers[i]);
		c->barrier.count += !err;
	}
	pthread_mutex_unlock(&c->barrier.lock);
	if (!err) {
		*crew = c;
		return 0;
	}
	failure__set(f, STATUS_FAILED, -err, "cannot start thread %u of %u: %s",
		     c->barrier.count + 1, load->threads, strerror(err));
	crew__destroy(c);
	return -err;
}

void crew__destroy(struct crew *c)
{
	if (!c)
		return;
	barrier__leave(&c->barrier);
	for (unsigned int i = 0; i < c->barrier.count; i++)
		pthread_join(c->workers[i].thread, NULL);
	barrier__destroy(&c->barrier);
	dataset__destroy(c->dataset);
	free(c->workers);
	free(c);
}

struct barrier *crew__barrier(struct crew *c)
{
	return &c->barrier;
}

void crew__begin(struct crew *c, uint64_t deadline_ns, uint64_t messages)
{
	for (unsigned int i = 0; i < c->barrier.count; i++) {
		atomic_store(&c->workers[i].sender.deadline_ns, deadline_ns);
		c->workers[i].sender.remaining = messages;
	}
	atomic_store(&c->delivered, 0);
	barrier__begin(&c->barrier);
}

void crew__stop(struct crew *c)
{
	for (unsigned int i = 0; i < c->barrier.count; i++)
		atomic_store(&c->workers[i].sender.deadline_ns, 0);
}

bool crew__delivered(const struct crew *c)
{
	return atomic_load(&c->delivered) == c->barrier.count;
}

void crew__abandon(struct crew *c)
{
	for (unsigned int i = 0; i < c->barrier.count; i++) {
		struct worker *w = &c->workers[i];

		atomic_store(&w->sender.abandoned, true);
		shutdown(w->sender.fd, SHUT_RDWR);
		slot__end(w->slot);
	}
}

void crew__sum(const struct crew *c, struct sent *sum, struct hist *requests, uint64_t *received,
	       uint64_t *end_ns)
{
	memset(requests, 0, sizeof(*requests));
	*received = *end_ns = 0;
	memset(sum, 0, sizeof(*sum));
	for (unsigned int i = 0; i < c->barrier.count; i++) {
		const struct worker *w = &c->workers[i];

		sent__add(sum, &w->sender.sent);
		if (w->slot->requests_since == atomic_load(&w->slot->begin_ns))
			hist__merge(requests, &w->slot->requests);
		*received += atomic_load(&w->slot->received) - w->received_before;
		if (w->end_ns > *end_ns)
			*end_ns = w->end_ns;
	}
}

void crew__failure(const struct crew *c, struct failure *f)
{
	for (unsigned int i = 0; i < c->barrier.count; i++)
		failure__adopt(f, &c->workers[i].sender.failure);
}
