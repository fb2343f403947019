/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One thread, which epoll tells of all connections under way. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "loadgen/load.h"
#include "loadgen/serving/client.h"

#define EVENTS 256

struct crowd {
	struct visitor *who;
	int epoll;
	struct visit *slots;
	unsigned int count, busy;
	uint64_t left; /* connections to begin */
};

static int watch(struct crowd *c, struct visit *v, int op, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.ptr = v};

	return epoll_ctl(c->epoll, op, v->fd, &e) ? -errno : 0;
}

static bool may_begin(struct crowd *c)
{
	return c->left && !c->who->failure.status &&
	       now_ns() < atomic_load(&c->who->client->deadline_ns);
}

static void end(struct crowd *c, struct visit *v, int err)
{
	visit__end(v, err, c->who);
	c->busy--;
}

static void begin(struct crowd *c, struct visit *v)
{
	int err;

	c->left--;
	c->busy++;
	err = visit__begin(v, c->who->client, &c->who->visits);
	if (!err)
		err = watch(c, v, EPOLL_CTL_ADD, EPOLLOUT);
	if (err)
		end(c, v, err);
}

static void step(struct crowd *c, struct visit *v)
{
	int over = 0;

	if (!v->connected) {
		over = visit__connected(v);
		if (!over)
			over = watch(c, v, EPOLL_CTL_MOD, EPOLLIN);
	} else {
		over = visit__read(v);
	}
	if (!over)
		return;
	end(c, v, over > 0 ? 0 : over);
	if (may_begin(c))
		begin(c, v);
}

static void end_all(struct crowd *c, bool lost_only, int err)
{
	for (unsigned int i = 0; i < c->count; i++)
		if (c->slots[i].fd >= 0 &&
		    (!lost_only || visit__is_lost(&c->slots[i], c->who->client)))
			end(c, &c->slots[i], err);
}

static void run_crowd(struct crowd *c)
{
	struct epoll_event events[EVENTS];
	struct epoll_event abandon = {.events = EPOLLIN};

	epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->who->client->abort_fd, &abandon);
	for (unsigned int i = 0; i < c->count; i++)
		c->slots[i].fd = -1;
	for (unsigned int i = 0; i < c->count && may_begin(c); i++)
		begin(c, &c->slots[i]);
	while (c->busy) {
		int n = epoll_wait(c->epoll, events, EVENTS, VISIT_LOOK_MS);

		for (int i = 0; i < n; i++) {
			if (events[i].data.ptr)
				step(c, events[i].data.ptr);
			else
				end_all(c, false, -ECANCELED);
			if (!c->busy)
				return;
		}
		if (!n)
			end_all(c, true, -ETIMEDOUT);
	}
}

static void run(struct visitor *who)
{
	struct crowd c = {
		.who = who,
		.count = who->client->load->connections,
		.epoll = epoll_create1(EPOLL_CLOEXEC),
	};

	c.left = who->rounds > UINT64_MAX / c.count ? UINT64_MAX : who->rounds * c.count;
	c.slots = calloc(c.count, sizeof(*c.slots));
	if (!c.slots || c.epoll < 0)
		failure__set(&who->failure, STATUS_FAILED, -errno, "cannot watch connections: %s",
			     strerror(errno));
	else
		run_crowd(&c);
	if (c.epoll >= 0)
		close(c.epoll);
	free(c.slots);
}

const struct client_ops client_epoll = {.name = "epoll", .run = run, .single = true};
