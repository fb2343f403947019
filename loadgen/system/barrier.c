/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "loadgen/system/barrier.h"

int barrier__init(struct barrier *p)
{
	*p = (struct barrier){.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	if (p->fd < 0)
		return -errno;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	return 0;
}

void barrier__destroy(struct barrier *p)
{
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	close(p->fd);
}

bool barrier__wait(struct barrier *p)
{
	unsigned int phase;
	bool go;

	pthread_mutex_lock(&p->lock);
	phase = p->phase;
	if (++p->waiting == p->count)
		eventfd_write(p->fd, 1);
	while (p->phase == phase && !p->leaving)
		pthread_cond_wait(&p->changed, &p->lock);
	go = !p->leaving;
	pthread_mutex_unlock(&p->lock);
	return go;
}

void barrier__acknowledge(struct barrier *p)
{
	eventfd_t count;

	eventfd_read(p->fd, &count);
}

void barrier__begin(struct barrier *p)
{
	pthread_mutex_lock(&p->lock);
	p->waiting = 0;
	p->phase++;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

void barrier__leave(struct barrier *p)
{
	pthread_mutex_lock(&p->lock);
	p->leaving = true;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}
