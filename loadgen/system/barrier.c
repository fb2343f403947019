/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "loadgen/system/barrier.h"

static int start_all(struct barrier *b, unsigned int count, const pthread_attr_t *attributes,
		     void *(*body)(void *), char *elements, size_t size)
{
	sigset_t all, before;
	int err = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* only the coordinator handles signals */
	pthread_mutex_lock(&b->lock); /* so that no thread waits before count is final */
	while (b->count < count && !err) {
		err = pthread_create(&b->threads[b->count], attributes, body,
				     elements + b->count * size);
		b->count += !err;
	}
	pthread_mutex_unlock(&b->lock);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}

int barrier__start(struct barrier *b, unsigned int count, void *(*body)(void *), void *elements,
		   size_t size, size_t stack_bytes)
{
	pthread_attr_t attributes;
	int err;

	*b = (struct barrier){.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	b->threads = b->fd < 0 ? NULL : calloc(count, sizeof(*b->threads));
	if (!b->threads)
		return -errno;
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->changed, NULL);
	pthread_attr_init(&attributes);
	if (stack_bytes)
		pthread_attr_setstacksize(&attributes, stack_bytes);
	err = start_all(b, count, &attributes, body, elements, size);
	pthread_attr_destroy(&attributes);
	return err;
}

void barrier__release(struct barrier *b, bool leaving)
{
	eventfd_t count;

	eventfd_read(b->fd, &count);
	pthread_mutex_lock(&b->lock);
	b->waiting = 0;
	b->phase++;
	b->leaving = leaving;
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
}

void barrier__destroy(struct barrier *b)
{
	if (!b->threads)
		return;
	barrier__release(b, true);
	for (unsigned int i = 0; i < b->count; i++)
		pthread_join(b->threads[i], NULL);
	free(b->threads);
	pthread_cond_destroy(&b->changed);
	pthread_mutex_destroy(&b->lock);
	close(b->fd);
}

bool barrier__wait(struct barrier *b, const struct failure *f)
{
	unsigned int phase;
	bool go;

	pthread_mutex_lock(&b->lock);
	failure__adopt(&b->failure, f);
	phase = b->phase;
	if (++b->waiting == b->count)
		eventfd_write(b->fd, 1);
	while (b->phase == phase && !b->leaving)
		pthread_cond_wait(&b->changed, &b->lock);
	go = !b->leaving;
	pthread_mutex_unlock(&b->lock);
	return go;
}
