/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "loadgen/system/barrier.h"

int barrier__init(struct barrier *b)
{
	*b = (struct barrier){.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	if (b->fd < 0)
		return -errno;
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->changed, NULL);
	return 0;
}

void barrier__destroy(struct barrier *b)
{
	pthread_cond_destroy(&b->changed);
	pthread_mutex_destroy(&b->lock);
	close(b->fd);
}

bool barrier__wait(struct barrier *b)
{
	unsigned int phase;
	bool go;

	pthread_mutex_lock(&b->lock);
	phase = b->phase;
	if (++b->waiting == b->count)
		eventfd_write(b->fd, 1);
	while (b->phase == phase && !b->leaving)
		pthread_cond_wait(&b->changed, &b->lock);
	go = !b->leaving;
	pthread_mutex_unlock(&b->lock);
	return go;
}

void barrier__acknowledge(struct barrier *b)
{
	eventfd_t count;

	eventfd_read(b->fd, &count);
}

void barrier__begin(struct barrier *b)
{
	pthread_mutex_lock(&b->lock);
	b->waiting = 0;
	b->phase++;
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
}

void barrier__leave(struct barrier *b)
{
	pthread_mutex_lock(&b->lock);
	b->leaving = true;
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
}
